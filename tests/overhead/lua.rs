//! Runs a Lua script by the interpreter `piccolo`: `tests/overhead/measure.py` builds it.

use piccolo::{Closure, Executor, Lua};

fn main() {
    let path = std::env::args().nth(1).expect("a script");
    let script = std::fs::read(path).expect("a readable script");
    let mut lua = Lua::full();
    let executor = lua
        .try_enter(|ctx| {
            let closure = Closure::load(ctx, None, &script[..])?;
            Ok(ctx.stash(Executor::start(ctx, closure.into(), ())))
        })
        .expect("a script without errors");
    lua.execute::<()>(&executor).expect("a run without errors");
}
