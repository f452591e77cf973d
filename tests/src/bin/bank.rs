//! A bank that goes wrong: the program of the sessions in `design/postmortem.md`.
//!
//! ```text
//!  bank crash    teller 1 makes 10,000 transfers; then teller 2 makes one to a closed account
//!  bank hang     each teller has locked an account, and waits for the other one's
//!  bank serve    teller 1 makes 10,000 transfers; then nothing happens, until it is killed
//! ```
//!
//! Design: `.req.pm` in `design/telemetry.md`.
#![expect(unsafe_code, reason = "the program dies of an invalid pointer on purpose")]

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard};
use std::{ptr, thread};
use telemetry::event;

telemetry::events! {
    /// A bank, its accounts, and transfers between them.
    registry "bank" version(1, 0, 0);
    kinds {
        /// The bank as a whole.
        Bank = 0,
        /// Money that goes from one account to another.
        Transfer = 1,
        /// Balances of accounts.
        Balance = 2,
        /// Locks of accounts by tellers.
        Lock = 3,
    }

    /// The bank opened its doors.
    Open(0x0001, always, Bank) {
        /// how many accounts it has
        accounts: U,
    }
    /// An account was closed, and its memory given back.
    AccountClose(0x0002, always, Bank) {
        /// the account
        account: P,
    }
    /// A transfer began.
    TransferBegin(0x0011, always, Transfer) {
        /// the account that pays
        from: P,
        /// the account that is paid
        to: P,
        /// how much
        amount: U,
    }
    /// A transfer was done.
    TransferEnd(0x0012, always, Transfer) {
        /// the account that paid
        from: P,
        /// the account that was paid
        to: P,
    }
    /// An account has a new balance.
    NewBalance(0x0021, always, Balance) {
        /// the account
        account: P,
        /// what is in it
        balance: U,
    }
    /// A teller waits for the lock of an account.
    LockWait(0x0031, always, Lock) {
        /// the account
        account: P,
    }
    /// A teller has locked an account.
    LockTake(0x0032, always, Lock) {
        /// the account
        account: P,
    }
    /// A teller has unlocked an account.
    LockLeave(0x0033, always, Lock) {
        /// the account
        account: P,
    }
}

/// The address of Carol's account before it was closed: not mapped.
const CAROL: usize = 0xDEAD_0000;
/// The number of transfers that one teller makes before the trouble.
const TRANSFER_COUNT: usize = 10_000;

struct Account {
    balance: Mutex<u32>,
    waiting: AtomicUsize,
}

impl Account {
    fn open(name: &str) -> &'static Account {
        let account = Account { balance: Mutex::new(100), waiting: AtomicUsize::new(0) };
        let account: &'static Account = Box::leak(Box::new(account));
        telemetry::label(account, telemetry::add_string(name));
        account
    }

    fn lock(&self) -> MutexGuard<'_, u32> {
        event!(LockWait, self);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let guard = self.balance.lock().expect("no teller panics");
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        event!(LockTake, self);
        guard
    }

    fn leave(&self, guard: MutexGuard<'_, u32>) {
        drop(guard);
        event!(LockLeave, self);
    }

    fn wait_for_waiter(&self) {
        while self.waiting.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
    }
}

fn carol() -> *const Account {
    ptr::without_provenance(black_box(CAROL))
}

/// Locks both accounts, in the order of the customer. `between` runs between the two locks.
fn transfer(from: &Account, to: *const Account, amount: u32, between: impl FnOnce()) {
    event!(TransferBegin, from, to, amount);
    let mut paying = from.lock();
    between();
    // SAFETY: accounts stay for ever, except Carol's, which kills the program on purpose.
    let to = unsafe { &*to };
    let mut paid = to.lock();
    *paying -= amount;
    event!(NewBalance, from, *paying);
    *paid += amount;
    event!(NewBalance, to, *paid);
    to.leave(paid);
    from.leave(paying);
    event!(TransferEnd, from, to);
}

fn transfers(count: usize, alice: &Account, bob: &Account) {
    for index in 0..count {
        let (from, to) = if index.is_multiple_of(2) { (alice, bob) } else { (bob, alice) };
        transfer(from, to, 10, || {});
    }
}

fn teller(number: usize, work: impl FnOnce() + Send + 'static) {
    let named = thread::Builder::new().name(format!("teller {number}"));
    let work = move || {
        work();
        wait();
    };
    named.spawn(work).expect("a teller can be started");
}

fn wait() -> ! {
    loop {
        thread::park();
    }
}

fn main() -> ExitCode {
    let what = std::env::args().nth(1).unwrap_or_default();
    if !["crash", "hang", "serve"].contains(&what.as_str()) {
        eprintln!("usage: bank crash | hang | serve    see design/postmortem.md");
        return ExitCode::from(2);
    }
    telemetry::label(carol(), telemetry::add_string("Carol"));
    let [alice, bob] = ["Alice", "Bob"].map(Account::open);
    event!(Open, 3u32);
    let (tell, told) = channel();
    match what.as_str() {
        "crash" => {
            teller(1, move || {
                event!(AccountClose, carol());
                transfers(TRANSFER_COUNT, alice, bob);
                tell.send(()).expect("teller 2 runs");
            });
            teller(2, move || {
                told.recv().expect("teller 1 runs");
                transfer(alice, carol(), 20, || {});
            });
        }
        "hang" => {
            let (tell_main, main_told) = channel();
            teller(1, move || {
                transfers(TRANSFER_COUNT, alice, bob);
                transfer(alice, bob, 30, || {
                    tell.send(()).expect("teller 2 runs");
                    alice.wait_for_waiter();
                    tell_main.send(()).expect("main runs");
                });
            });
            teller(2, move || {
                told.recv().expect("teller 1 runs");
                transfer(bob, alice, 40, || {});
            });
            main_told.recv().expect("teller 1 runs");
            bob.wait_for_waiter();
            println!("bank: open");
        }
        _ => {
            teller(1, move || {
                transfers(TRANSFER_COUNT, alice, bob);
                println!("bank: open");
            });
        }
    }
    wait();
}
