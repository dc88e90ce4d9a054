//! The socket and the thread behind it.

use crate::connection::{serve, Service};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::{interval, sleep, MissedTickBehavior};

/// How often digests and idle entries are looked for.
const TICK: Duration = Duration::from_millis(10);
/// How long nobody is let in after somebody could not be, as when there are too many open files
const PAUSE: Duration = Duration::from_millis(100);

/// A server that listens; dropping it ends all its connections.
pub struct Listener {
    address: SocketAddr,
    /// The thread ends when this is dropped.
    _stop: oneshot::Sender<Infallible>,
}

impl Listener {
    /// Lets a service listen on `address`; port 0 takes any that is free. Every 10 ms `tick` is
    /// called, for what nobody asks for.
    pub fn start(
        service: impl Service + Sync,
        address: SocketAddr,
        tick: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Listener> {
        // Calls are short: a second thread would have to be woken for them.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .thread_name("grpc-aside")
            .enable_all()
            .build()?;
        let socket = runtime.block_on(TcpListener::bind(address))?;
        let address = socket.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let run = move || {
            runtime.spawn(ticks(tick));
            runtime.spawn(accept(socket, service));
            let _ = runtime.block_on(stopped);
            runtime.shutdown_background();
        };
        std::thread::Builder::new()
            .name("grpc".to_string())
            .spawn(run)?;
        Ok(Listener {
            address,
            _stop: stop,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn ticks(tick: impl Fn() + Send + Sync + 'static) {
    let tick = Arc::new(tick);
    let mut interval = interval(TICK);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        let tick = Arc::clone(&tick);
        // It may have to wait for the switch. A panic of it has been told; the next one is due.
        let _ = tokio::task::spawn_blocking(move || tick()).await;
    }
}

async fn accept(socket: TcpListener, service: impl Service + Sync) {
    loop {
        let Ok((wire, _)) = socket.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        // Without it answers are only later, and a client that has gone is none.
        let _ = wire.set_nodelay(true);
        let service = service.clone();
        tokio::spawn(async move {
            // A client that breaks HTTP's rules has been told so by h2.
            let _ = serve(wire, service).await;
        });
    }
}
