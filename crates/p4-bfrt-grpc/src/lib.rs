//! The methods of `bfrt_proto.BfRuntime` over gRPC. What calls mean is [`p4_bfrt`]'s.
#![forbid(unsafe_code)]

use http::{Request, Response};
use p4_bfrt::messages::{
    GetPipelineRequest, GetPipelineResponse, ReadRequest, ReadResponse, SetPipelineRequest,
    SetPipelineResponse, StreamMessageRequest, StreamMessageResponse, WriteRequest, WriteResponse,
};
use p4_bfrt::server::{self, refused, Server, Sink, Stream};
use p4_runtime_grpc::{aside, grpc, status, unary, Answer};
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::metadata::MetadataMap;
use tonic::server::{ServerStreamingService, StreamingService, UnaryService};
use tonic::{Status, Streaming};
use tower_service::Service;

/// Messages that wait for a client which does not read them.
const QUEUE: usize = 2048;

/// The service for one connection.
#[derive(Clone)]
pub struct Api {
    pub server: Arc<Server>,
}

type Done<T> = Result<tonic::Response<T>, Status>;

impl Service<Request<Body>> for Api {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answer<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let server = Arc::clone(&self.server);
        Box::pin(async move { Ok(route(server, request).await) })
    }
}

/// Answers every call with an empty message and does nothing else: what is the most that calls one
/// after the other can reach.
#[derive(Clone, Copy)]
pub struct Empty;

impl Service<Request<Body>> for Empty {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answer<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(async move {
            let mut grpc = grpc::<WriteResponse, WriteRequest>();
            Ok(grpc.unary(Empty, request).await)
        })
    }
}

impl UnaryService<WriteRequest> for Empty {
    type Response = WriteResponse;
    type Future = std::future::Ready<Done<WriteResponse>>;

    fn call(&mut self, _: tonic::Request<WriteRequest>) -> Self::Future {
        std::future::ready(Ok(tonic::Response::new(WriteResponse::default())))
    }
}

async fn route(server: Arc<Server>, request: Request<Body>) -> Response<Body> {
    let path = request.uri().path();
    match path
        .strip_prefix("/bfrt_proto.BfRuntime/")
        .unwrap_or_default()
    {
        "Write" => {
            let mut grpc = grpc::<WriteResponse, WriteRequest>();
            grpc.unary(Writes(server), request).await
        }
        "Read" => {
            let mut grpc = grpc::<ReadResponse, ReadRequest>();
            grpc.server_streaming(Reads(server), request).await
        }
        "SetForwardingPipelineConfig" => {
            unary(
                server,
                request,
                |server: &Server, message: SetPipelineRequest| {
                    server.set_pipeline(&message) as Result<SetPipelineResponse, _>
                },
            )
            .await
        }
        "GetForwardingPipelineConfig" => {
            unary(
                server,
                request,
                |server: &Server, message: GetPipelineRequest| {
                    server.get_pipeline(&message) as Result<GetPipelineResponse, _>
                },
            )
            .await
        }
        "StreamChannel" => {
            let mut grpc = grpc::<StreamMessageResponse, StreamMessageRequest>();
            grpc.streaming(Channels(server), request).await
        }
        _ => Status::unimplemented(format!("there is no method {path}")).into_http(),
    }
}

/// Whether a client wants the errors of a batch in the answer, not in place of it.
fn wants_list(metadata: &MetadataMap) -> bool {
    let given = metadata.get("error_in_resp");
    given.is_some_and(|value| value.as_bytes() == b"1")
}

/// Whether a client does not care for entries that are not there any more.
fn ignores_absent(metadata: &MetadataMap) -> bool {
    let given = metadata.get("ignore_not_found");
    given.is_some_and(|value| value.as_bytes() == b"1")
}

struct Writes(Arc<Server>);

impl UnaryService<WriteRequest> for Writes {
    type Response = WriteResponse;
    type Future = Answer<Done<WriteResponse>>;

    fn call(&mut self, request: tonic::Request<WriteRequest>) -> Self::Future {
        let server = Arc::clone(&self.0);
        let metadata = request.metadata();
        let (listed, lenient) = (wants_list(metadata), ignores_absent(metadata));
        Box::pin(async move {
            let request = request.into_inner();
            let results = match server.write_at_once(&request, lenient) {
                Some(results) => results,
                None => aside(move || server.write(request, lenient)).await?,
            };
            let results = results.map_err(status)?;
            // Whoever asks for a list gets it if nothing was refused: mistakes are an error always.
            if results.iter().any(Result::is_err) {
                let results: Vec<_> = results.into_iter().map(|own| own.map(|_| ())).collect();
                return Err(status(refused("update", &results)));
            }
            let done: Vec<server::Done> = results.into_iter().flatten().collect();
            let status = match listed || lenient {
                true => server::reported(&done),
                false => Vec::new(),
            };
            Ok(tonic::Response::new(WriteResponse { status }))
        })
    }
}

struct Reads(Arc<Server>);

impl ServerStreamingService<ReadRequest> for Reads {
    type Response = ReadResponse;
    type ResponseStream = tokio_stream::Iter<std::vec::IntoIter<Result<ReadResponse, Status>>>;
    type Future = Answer<Done<Self::ResponseStream>>;

    fn call(&mut self, request: tonic::Request<ReadRequest>) -> Self::Future {
        let server = Arc::clone(&self.0);
        let listed = wants_list(request.metadata());
        Box::pin(async move {
            let request = request.into_inner();
            let found = match server.read_at_once(&request) {
                Some(found) => found,
                None => aside(move || server.read(request)).await?,
            };
            let (entities, results) = found.map_err(status)?;
            let mut parts = vec![Ok(ReadResponse {
                entities,
                status: match listed {
                    true => server::listed(&results),
                    false => Vec::new(),
                },
            })];
            if !listed && results.iter().any(Result::is_err) {
                // What was found comes before the error.
                parts.push(Err(status(refused("entity", &results))));
            }
            Ok(tonic::Response::new(tokio_stream::iter(parts)))
        })
    }
}

struct Channels(Arc<Server>);

type Messages = ReceiverStream<Result<StreamMessageResponse, Status>>;

impl StreamingService<StreamMessageRequest> for Channels {
    type Response = StreamMessageResponse;
    type ResponseStream = Messages;
    type Future = Answer<Done<Messages>>;

    fn call(&mut self, request: tonic::Request<Streaming<StreamMessageRequest>>) -> Self::Future {
        let messages = serve(Arc::clone(&self.0), request.into_inner());
        Box::pin(async move { Ok(tonic::Response::new(messages)) })
    }
}

/// The way to one client; what it does not read in time is lost to it.
struct Client(mpsc::Sender<Result<StreamMessageResponse, Status>>);

impl Sink for Client {
    fn send(&self, message: StreamMessageResponse) {
        // A client that has gone, or reads nothing, does not hear it.
        let _ = self.0.try_send(Ok(message));
    }
}

/// Starts to listen to a client; gives what it will be told.
fn serve(server: Arc<Server>, mut requests: Streaming<StreamMessageRequest>) -> Messages {
    let (queue, messages) = mpsc::channel(QUEUE);
    tokio::spawn(async move {
        let mut stream = Stream::open(server, Arc::new(Client(queue.clone())));
        loop {
            let message = tokio::select! {
                message = requests.message() => message,
                () = queue.closed() => return,
            };
            let done = match message {
                Ok(Some(message)) => stream.receive(message).map_err(status),
                Ok(None) => return,
                Err(status) => Err(status),
            };
            if let Err(status) = done {
                let _ = queue.try_send(Err(status));
                return;
            }
        }
    });
    ReceiverStream::new(messages)
}
