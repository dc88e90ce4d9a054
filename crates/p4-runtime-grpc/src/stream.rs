//! Stream channels: a queue to each client, and a task that listens to it.

use crate::call::{Answers, Requests};
use crate::service::aside;
use p4_runtime::messages::{StreamMessageRequest, StreamMessageResponse, StreamRequest};
use p4_runtime::{Code, Server, Sink, Status, Stream};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, Notify};

/// Messages that wait for a client which does not read them.
const QUEUE: usize = 2048;
/// Of these places so many are for messages that must not be lost.
const RESERVED: usize = 64;
/// How long a client may take to hear why its stream ends.
const LAST_WORD: Duration = Duration::from_secs(1);

/// The way to one client.
struct Client {
    queue: mpsc::Sender<Result<StreamMessageResponse, Status>>,
    /// Told when the client is too slow to be told anything
    lost: Arc<Notify>,
}

impl Sink for Client {
    fn send(&self, message: StreamMessageResponse, matters: bool) {
        if !matters && self.queue.capacity() <= RESERVED {
            return;
        }
        if self.queue.try_send(Ok(message)).is_err() && matters {
            self.lost.notify_one();
        }
    }
}

/// Listens to a client and tells it what there is to tell.
pub async fn serve(
    server: Arc<Server>,
    requests: Requests<StreamMessageRequest>,
    answers: Answers<StreamMessageResponse>,
) {
    let (queue, mut messages) = mpsc::channel(QUEUE);
    let lost = Arc::new(Notify::new());
    let client = Client {
        queue: queue.clone(),
        lost: Arc::clone(&lost),
    };
    tokio::spawn(async move {
        let stream = server.open(Arc::new(client));
        let end = tokio::select! {
            end = listen(server, stream, requests) => end,
            () = lost.notified() => {
                let message = "the client does not read its messages";
                Err(Status::new(Code::ResourceExhausted, message))
            }
            () = queue.closed() => Ok(()),
        };
        if let Err(status) = end {
            // A client that has gone does not hear it.
            let _ = tokio::time::timeout(LAST_WORD, queue.send(Err(status))).await;
        }
    });
    answers.all(&mut messages).await;
}

async fn listen(
    server: Arc<Server>,
    stream: Stream,
    mut requests: Requests<StreamMessageRequest>,
) -> Result<(), Status> {
    let mut stream = Closing(Some(stream));
    while let Some(message) = requests.next().await? {
        let Some(mut own) = stream.0.take() else {
            break;
        };
        // An arbitration may wait for a batch that is being written; other messages do not.
        if matches!(message.update, Some(StreamRequest::Arbitration(_))) {
            let server = Arc::clone(&server);
            let work = aside(move || {
                let done = server.receive(&mut own, message);
                (own, done)
            });
            let (own, done) = work.await?;
            stream.0 = Some(own);
            done?;
        } else {
            let done = server.receive(&mut own, message);
            stream.0 = Some(own);
            done?;
        }
    }
    Ok(())
}

/// Closes a stream in a thread where nobody waits for the device.
struct Closing(Option<Stream>);

impl Drop for Closing {
    fn drop(&mut self) {
        if let (Some(stream), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current())
        {
            runtime.spawn_blocking(move || drop(stream));
        }
    }
}
