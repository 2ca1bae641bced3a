//! A network between a consumer and its server that cuts connections, or goes silent.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// A proxy that cuts every other connection before one of its messages, each time a later one; the connections between them last
/// for some batches, after which a consumer pauses only briefly again. The first connection is never cut. And it can stop passing
/// on what is sent by the connections up to now, without closing them.
pub(super) struct Proxy {
    pub(super) port: u16,
    pub(super) ends: Arc<AtomicBool>,
    pub(super) connections: Arc<AtomicUsize>,
    pub(super) silent: Arc<AtomicUsize>,
}

impl Proxy {
    pub(super) fn new(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (ends, connections) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let silent = Arc::new(AtomicUsize::new(0));
        let silenced = Arc::clone(&silent);
        let (is_over, count) = (Arc::clone(&ends), Arc::clone(&connections));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                let number = if is_cancel(&client) { usize::MAX } else { count.fetch_add(1, Relaxed) };
                let left = match number {
                    0 | usize::MAX => usize::MAX,
                    _ if is_over.load(Relaxed) => usize::MAX,
                    number if number % 2 == 1 => 10 + number / 2,
                    _ => 150,
                };
                let left = Arc::new(AtomicUsize::new(left));
                for (from, to, is_client) in [(&client, &server, true), (&server, &client, false)] {
                    let (mut from, mut to, left) =
                        (from.try_clone().unwrap(), to.try_clone().unwrap(), Arc::clone(&left));
                    let silent = Arc::clone(&silenced);
                    thread::spawn(move || {
                        let _ = relay(&mut from, &mut to, is_client, &left, || number < silent.load(Relaxed));
                        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                    });
                }
            }
        });
        Self { port, ends, connections, silent }
    }
}

/// Whether a client asks for the end of another one's statement, which is a connection of its own.
fn is_cancel(client: &TcpStream) -> bool {
    let mut start = [0; 8];
    while matches!(client.peek(&mut start), Ok(1..8)) {
        thread::sleep(Duration::from_millis(1));
    }
    start[4..] == 80_877_102_u32.to_be_bytes()
}

/// Passes messages on until none is left. The first of a client has no byte for its type.
fn relay(
    from: &mut TcpStream,
    to: &mut TcpStream,
    mut is_first: bool,
    left: &AtomicUsize,
    is_silent: impl Fn() -> bool,
) -> io::Result<()> {
    loop {
        let mut message = vec![0; if is_first { 4 } else { 5 }];
        from.read_exact(&mut message)?;
        let length = u32::from_be_bytes(message[message.len() - 4..].try_into().unwrap()) as usize - 4;
        let start = message.len();
        message.resize(start + length, 0);
        from.read_exact(&mut message[start..])?;
        is_first = false;
        if is_silent() {
            continue;
        }
        if left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err() {
            return Ok(());
        }
        to.write_all(&message)?;
    }
}
