//! One connection: HTTP/2, by h2, and the calls that come on it.

use crate::call::Call;
use bytes::Bytes;
use h2::{Ping, PingPong};
use std::future::{pending, poll_fn, Future};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::task::Poll;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use tokio::task::{yield_now, JoinHandle};
use tokio::time::{sleep, timeout};

/// A client is asked so often whether it is there, and has so long to say so.
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
/// Headers of a call in all
const HEADERS: u32 = 16 << 10;

/// To put the thread to sleep and to wake it takes as long as a call. So it stays awake for so long
/// after an answer, but only to a call that came as soon after the answer before: a client that is
/// slower, or has said all, costs these microseconds once.
const AWAKE: Duration = Duration::from_micros(50);

/// What answers calls.
pub trait Service: Clone + Send + 'static {
    fn serve(self, call: Call) -> impl Future<Output = ()> + Send + 'static;
}

/// Answers the calls of one client until it leaves, or says what HTTP/2 does not allow.
pub async fn serve<S: Service>(
    wire: impl AsyncRead + AsyncWrite + Unpin,
    service: S,
) -> Result<(), h2::Error> {
    let mut connection = h2::server::Builder::new()
        .max_concurrent_streams(STREAMS)
        .initial_window_size(CALL_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(HEADERS)
        .handshake::<_, Bytes>(wire)
        .await?;
    let mut silence = pin!(silence(connection.ping_pong()));
    let turns = Arc::new(Semaphore::new(CALLS));
    let mut pace = Pace::new();
    loop {
        let next = tokio::select! {
            biased;
            next = connection.accept() => next,
            () = &mut silence => return Ok(()),
        };
        let brisk = pace.is_brisk();
        let Some(next) = next else {
            return Ok(());
        };
        let (request, reply) = next?;
        let (service, turns) = (service.clone(), Arc::clone(&turns));
        let mut work = Box::pin(async move {
            // They are never closed.
            if let Ok(turn) = turns.acquire_owned().await {
                service.serve(Call::new(request, reply, turn)).await;
            }
        });
        // A call that has nothing to wait for is answered here; others wait in a task of their own.
        let start = poll_fn(|context| Poll::Ready(work.as_mut().poll(context)));
        if start.await.is_pending() {
            tokio::spawn(work);
        }
        pace.answered(brisk);
    }
}

/// Ends when a client does not answer any more.
async fn silence(pings: Option<PingPong>) {
    let Some(mut pings) = pings else {
        return pending().await;
    };
    loop {
        sleep(KEEPALIVE).await;
        let answer = timeout(KEEPALIVE_TIMEOUT, pings.ping(Ping::opaque()));
        if !matches!(answer.await, Ok(Ok(_))) {
            return;
        }
    }
}

/// How soon a client calls again.
struct Pace {
    start: Instant,
    /// When its last call was answered, in nanoseconds from the start
    answered: Arc<AtomicU64>,
    /// What keeps the thread awake
    awake: Option<JoinHandle<()>>,
    /// Where there is only one processor, the client needs it to call.
    alone: bool,
}

impl Pace {
    fn new() -> Pace {
        Pace {
            start: Instant::now(),
            answered: Arc::default(),
            awake: None,
            alone: available_parallelism().map_or(1, usize::from) == 1,
        }
    }

    /// Whether a call that comes now comes at once.
    fn is_brisk(&self) -> bool {
        !self.alone && is_soon(self.start, &self.answered)
    }

    fn answered(&mut self, brisk: bool) {
        let (start, answered) = (self.start, &self.answered);
        answered.store(start.elapsed().as_nanos() as u64, Relaxed);
        if brisk && self.awake.as_ref().is_none_or(JoinHandle::is_finished) {
            let answered = Arc::clone(answered);
            self.awake = Some(tokio::spawn(async move {
                while is_soon(start, &answered) {
                    yield_now().await;
                }
            }));
        }
    }
}

fn is_soon(start: Instant, answered: &AtomicU64) -> bool {
    let answered = Duration::from_nanos(answered.load(Relaxed));
    start.elapsed() < answered + AWAKE
}
