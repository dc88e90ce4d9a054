//! The methods of `bfrt_proto.BfRuntime` over gRPC. What calls mean is [`p4_bfrt`]'s.
#![forbid(unsafe_code)]

use p4_bfrt::messages::{
    ReadRequest, ReadResponse, StreamMessageResponse, WriteRequest, WriteResponse,
};
use p4_bfrt::server::{self, refused, Server, Sink, Stream};
use p4_runtime::Status;
use p4_runtime_grpc::{aside, unary, unknown, Call, Service};
use std::future::{ready, Future};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Messages that wait for a client which does not read them.
const QUEUE: usize = 2048;

/// The service for one connection.
#[derive(Clone)]
pub struct Api {
    pub server: Arc<Server>,
}

impl Service for Api {
    fn serve(self, call: Call) -> impl Future<Output = ()> + Send + 'static {
        route(self.server, call)
    }
}

/// Answers every call with an empty message and does nothing else: what is the most that calls one
/// after the other can reach.
#[derive(Clone, Copy)]
pub struct Empty;

impl Service for Empty {
    fn serve(self, call: Call) -> impl Future<Output = ()> + Send + 'static {
        call.unary(|_: WriteRequest| ready(Ok(WriteResponse::default())))
    }
}

async fn route(server: Arc<Server>, call: Call) {
    let path = call.path();
    let method = path.strip_prefix("/bfrt_proto.BfRuntime/");
    match method.unwrap_or_default() {
        "Write" => write(server, call).await,
        "Read" => read(server, call).await,
        "SetForwardingPipelineConfig" => {
            let method = |server: &Server, message| server.set_pipeline(&message);
            unary(server, call, method).await;
        }
        "GetForwardingPipelineConfig" => {
            let method = |server: &Server, message| server.get_pipeline(&message);
            unary(server, call, method).await;
        }
        "StreamChannel" => serve(server, call).await,
        _ => unknown(call),
    }
}

/// Whether a client wants the errors of a batch in the answer, not in place of it.
fn wants_list(call: &Call) -> bool {
    call.says("error_in_resp", "1")
}

/// Whether a client does not care for entries that are not there any more.
fn ignores_absent(call: &Call) -> bool {
    call.says("ignore_not_found", "1")
}

async fn write(server: Arc<Server>, call: Call) {
    let (listed, lenient) = (wants_list(&call), ignores_absent(&call));
    let method = |request: WriteRequest| async move {
        let results = match server.write_at_once(&request, lenient) {
            Some(results) => results,
            None => aside(move || server.write(request, lenient)).await?,
        };
        let results = results?;
        // Whoever asks for a list gets it if nothing was refused: mistakes are an error always.
        if results.iter().any(Result::is_err) {
            let results: Vec<_> = results.into_iter().map(|own| own.map(|_| ())).collect();
            return Err(refused("update", &results));
        }
        let done: Vec<server::Done> = results.into_iter().flatten().collect();
        let status = match listed || lenient {
            true => server::reported(&done),
            false => Vec::new(),
        };
        Ok(WriteResponse { status })
    };
    call.unary(method).await;
}

async fn read(server: Arc<Server>, call: Call) {
    let listed = wants_list(&call);
    let (requests, mut answers) = call.split::<ReadRequest, ReadResponse>();
    let done = async {
        let request = requests.only().await?;
        let found = match server.read_at_once(&request) {
            Some(found) => found,
            None => aside(move || server.read(request)).await?,
        };
        let (entities, results) = found?;
        let status = match listed {
            true => server::listed(&results),
            false => Vec::new(),
        };
        answers.send(&ReadResponse { entities, status }).await?;
        // What was found comes before the error.
        match !listed && results.iter().any(Result::is_err) {
            true => Err(refused("entity", &results)),
            false => Ok(()),
        }
    };
    let done = done.await;
    answers.end(done);
}

/// The way to one client; what it does not read in time is lost to it.
struct Client(mpsc::Sender<Result<StreamMessageResponse, Status>>);

impl Sink for Client {
    fn send(&self, message: StreamMessageResponse) {
        // A client that has gone, or reads nothing, does not hear it.
        let _ = self.0.try_send(Ok(message));
    }
}

/// Listens to a client and tells it what there is to tell.
async fn serve(server: Arc<Server>, call: Call) {
    let (mut requests, answers) = call.split();
    let (queue, mut messages) = mpsc::channel(QUEUE);
    tokio::spawn(async move {
        let mut stream = Stream::open(server, Arc::new(Client(queue.clone())));
        loop {
            let message = tokio::select! {
                message = requests.next() => message,
                () = queue.closed() => return,
            };
            let done = match message {
                Ok(Some(message)) => stream.receive(message),
                Ok(None) => return,
                Err(status) => Err(status),
            };
            if let Err(status) = done {
                let _ = queue.try_send(Err(status));
                return;
            }
        }
    });
    answers.all(&mut messages).await;
}
