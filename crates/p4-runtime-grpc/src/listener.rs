//! The socket and the threads behind it.

use http::{Request, Response};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tonic::body::Body;
use tonic::transport::server::TcpIncoming;
use tower_service::Service;

/// How often digests and idle entries are looked for.
const TICK: Duration = Duration::from_millis(10);
/// A client that says nothing is asked whether it is there, and has so long to say so.
const KEEPALIVE: Duration = Duration::from_secs(20);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Calls and streams that one connection may have open
const STREAMS: u32 = 256;
/// Calls of one connection that are done at a time; the others wait, and keep no thread from those
/// of other connections.
const CALLS: usize = 32;
/// What a client may send before the server has taken it, per call and per connection
const CALL_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 4 << 20;

/// A server that listens; dropping it ends all its connections.
pub struct Listener {
    address: SocketAddr,
    runtime: Option<Runtime>,
}

impl Listener {
    /// Lets a service listen on `address`; port 0 takes any that is free. Every 10 ms `tick` is
    /// called, for what nobody asks for.
    pub fn start<S>(
        service: S,
        address: SocketAddr,
        tick: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Listener>
    where
        S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
        S: Clone + Send + 'static,
        S::Future: Send,
    {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1) // calls are short, and a second thread has to be woken for them
            .thread_name("grpc")
            .enable_all()
            .build()?;
        let incoming = {
            let _inside = runtime.enter();
            TcpIncoming::bind(address)?.with_nodelay(Some(true))
        };
        let address = incoming.local_addr()?;
        let tick = Arc::new(tick);
        runtime.spawn(async move {
            let mut interval = tokio::time::interval(TICK);
            interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                interval.tick().await;
                let tick = Arc::clone(&tick);
                // It may have to wait for the switch. A panic of it has been told; the next one is due.
                let _ = tokio::task::spawn_blocking(move || tick()).await;
            }
        });
        let transport = tonic::transport::Server::builder()
            .http2_keepalive_interval(Some(KEEPALIVE))
            .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
            .concurrency_limit_per_connection(CALLS)
            .max_concurrent_streams(Some(STREAMS))
            .initial_stream_window_size(Some(CALL_WINDOW))
            .initial_connection_window_size(Some(CONNECTION_WINDOW));
        runtime.spawn(transport.serve_with_incoming(service, incoming));
        Ok(Listener {
            address,
            runtime: Some(runtime),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
