//! The addresses of sockets: what /proc tells of the sockets that processes have open.
//!
//! ```text
//!  /proc/P/fd/5 ─▶ socket:[123]      /proc/P/net/udp, unix, tcp ─▶ 123: udp 127.0.0.1:53
//! ```
//!
//! The tables of TCP may be long, and rows of the trace tell new connections: only whole looks read
//! them. A Unix socket without a path of its own has no name: no table tells its other end.
//!
//! Design: `.waits.files` in `design/waits.md`.

use std::collections::HashMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Sockets that are kept, at most.
const SOCKET_COUNT_MAX: usize = 1 << 18;
/// The tables of the internet, and the words that they begin a name with.
const TABLES: [(&str, &str); 4] =
    [("udp", "udp"), ("udp6", "udp"), ("tcp", "tcp"), ("tcp6", "tcp")];

/// The sockets of the processes that were looked at.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    /// By inode; empty if a table has the socket, and no name of it.
    names: HashMap<u64, Box<[u8]>>,
    has_tcp: bool,
    /// The tables were read for the process that is looked at.
    is_read: bool,
    /// Names may have changed.
    is_stale: bool,
}

impl Sockets {
    /// Begins to look at a process. A whole look also tells names that have changed.
    pub(super) fn begin(&mut self, is_whole: bool) {
        (self.is_read, self.is_stale) = (false, is_whole);
    }

    /// Returns the name of a socket of a process by the link of its file number; `None` if the
    /// number is not a socket, or its socket has no name.
    pub(super) fn name(&mut self, process: u32, link: &[u8]) -> Option<&[u8]> {
        let inode = link.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
        let inode = str::from_utf8(inode).ok()?.parse().ok()?;
        if !self.is_read && (self.is_stale || !self.names.contains_key(&inode)) {
            self.is_read = true;
            self.read(process);
        }
        self.names.get(&inode).map(|name| &**name).filter(|name| !name.is_empty())
    }

    fn read(&mut self, process: u32) {
        let text = |table| fs::read(format!("/proc/{process}/net/{table}")).unwrap_or_default();
        for (table, word) in TABLES {
            let is_tcp = word == "tcp";
            if !is_tcp || !self.has_tcp || self.is_stale {
                lines(&text(table)).filter_map(|line| of_internet(word, line)).for_each(|own| {
                    self.note(own);
                });
            }
        }
        self.has_tcp = true;
        lines(&text("unix")).filter_map(of_unix).for_each(|own| self.note(own));
    }

    fn note(&mut self, (inode, name): (u64, Box<[u8]>)) {
        if self.names.len() < SOCKET_COUNT_MAX || self.names.contains_key(&inode) {
            self.names.insert(inode, name);
        }
    }
}

/// Returns the lines of a table after its heading.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').skip(1)
}

/// Reads "0: 0100007F:0035 00000000:0000 07 … INODE …".
fn of_internet(word: &str, line: &[u8]) -> Option<(u64, Box<[u8]>)> {
    let mut words = str::from_utf8(line).ok()?.split_ascii_whitespace();
    let (own, peer) = (address(words.nth(1)?)?, address(words.next()?)?);
    let inode = words.nth(6)?.parse().ok().filter(|inode| *inode != 0)?;
    let name = match peer.port() {
        0 => format!("{word} {own}"),
        _ => format!("{word} {own} to {peer}"),
    };
    Some((inode, name.into_bytes().into()))
}

/// Reads an address: words of 32 bits in the order of this machine, and a port.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let word = |from: usize| {
        let digits = address.get(from..from + 8)?;
        u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
    };
    let address = match address.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            let mut bytes = [0; 16];
            bytes.iter_mut().zip(words.as_flattened()).for_each(|(to, from)| *to = *from);
            Ipv6Addr::from(bytes).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(address, u16::from_str_radix(port, 16).ok()?))
}

/// Reads "ADDRESS: COUNT PROTOCOL FLAGS TYPE STATE INODE PATH".
fn of_unix(line: &[u8]) -> Option<(u64, Box<[u8]>)> {
    let mut words = line.splitn(2, |byte| *byte == b':');
    let mut rest = words.nth(1)?;
    let mut inode = &[][..];
    for _ in 0..6 {
        rest = rest.trim_ascii_start();
        let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
        (inode, rest) = rest.split_at_checked(end)?;
    }
    let inode = str::from_utf8(inode).ok()?.parse().ok()?;
    let name = match rest.strip_prefix(b" ").unwrap_or_default() {
        [] => Vec::new(),
        path => [b"unix ", path].concat(),
    };
    Some((inode, name.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, UdpSocket};
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::{UnixDatagram, UnixListener};

    fn told(sockets: &mut Sockets, own: &impl AsRawFd) -> Option<String> {
        let process = std::process::id();
        let link = fs::read_link(format!("/proc/{process}/fd/{}", own.as_raw_fd())).unwrap();
        let name = sockets.name(process, link.as_os_str().as_bytes())?;
        Some(String::from_utf8(name.to_vec()).unwrap())
    }

    #[test]
    fn sockets_have_the_addresses_that_programs_gave_them() {
        let mut sockets = Sockets::default();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b");
        let (one, other) = (UdpSocket::bind("127.0.0.1:0"), UdpSocket::bind("[::1]:0"));
        let (one, other) = (one.unwrap(), other.unwrap());
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let unix = UnixListener::bind(&path).unwrap();
        let (end, _other_end) = UnixDatagram::pair().unwrap();
        let own = one.local_addr().unwrap();
        assert_eq!(told(&mut sockets, &one), Some(format!("udp {own}")));
        let [v6, of_tcp] = [other.local_addr().unwrap(), tcp.local_addr().unwrap()];
        assert_eq!(told(&mut sockets, &other), Some(format!("udp {v6}")));
        assert_eq!(told(&mut sockets, &tcp), Some(format!("tcp {of_tcp}")));
        assert_eq!(told(&mut sockets, &unix), Some(format!("unix {}", path.display())));
        assert_eq!(told(&mut sockets, &end), None);
        // A whole look tells the peer, too.
        one.connect("127.0.0.1:9").unwrap();
        sockets.begin(false);
        assert_eq!(told(&mut sockets, &one), Some(format!("udp {own}")));
        sockets.begin(true);
        assert_eq!(told(&mut sockets, &one), Some(format!("udp {own} to 127.0.0.1:9")));
    }

    #[test]
    fn a_line_that_is_cut_or_changed_is_passed_over() {
        let lines = [
            &b"  1: 0100007F:0035 00000000:0000 07 0:0 00:00000000 0 0 0 77 2 0 0"[..],
            b"000000006f80fa50: 00000003 00000000 00000000 0001 03 1198822 /run/a b",
        ];
        for line in lines {
            for size in 0..line.len() {
                of_internet("udp", &line[..size]);
                of_unix(&line[..size]);
            }
            for at in 0..line.len() {
                let mut line = line.to_vec();
                line[at] ^= 0xFF;
                of_internet("udp", &line);
                of_unix(&line);
            }
        }
        assert_eq!(of_unix(lines[1]).unwrap(), (1_198_822, b"unix /run/a b"[..].into()));
        assert_eq!(of_internet("udp", lines[0]).unwrap().0, 77);
    }
}
