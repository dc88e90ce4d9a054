//! The methods of `p4.v1.P4Runtime`.

use crate::codec::Protobuf;
use crate::stream::{serve, Messages};
use http::{Request, Response};
use p4_runtime::messages::{
    CapabilitiesRequest, CapabilitiesResponse, GetPipelineRequest, GetPipelineResponse,
    ReadRequest, ReadResponse, SetPipelineRequest, SetPipelineResponse, StreamMessageRequest,
    StreamMessageResponse, WriteRequest, WriteResponse,
};
use p4_runtime::Server;
use prost::Message;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tonic::body::Body;
use tonic::server::{Grpc, ServerStreamingService, StreamingService, UnaryService};
use tonic::{Code, Status, Streaming};
use tower_service::Service;

/// Messages may be so large: the answer to two million keys that are not there, as a test of the SDE
/// asks for them (bri_grpc_error), has less.
const MAX_MESSAGE: usize = 256 << 20;

/// The service for one connection.
#[derive(Clone)]
pub struct Api {
    pub server: Arc<Server>,
}

/// What a call comes to.
pub type Answer<T> = Pin<Box<dyn Future<Output = T> + Send>>;

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

async fn route(server: Arc<Server>, request: Request<Body>) -> Response<Body> {
    let path = request.uri().path();
    match path.strip_prefix("/p4.v1.P4Runtime/").unwrap_or_default() {
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
        "Capabilities" => {
            unary(
                server,
                request,
                |server: &Server, message: CapabilitiesRequest| {
                    server.capabilities(&message) as Result<CapabilitiesResponse, _>
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

/// A service whose method takes `In` and answers with `Out`.
pub fn grpc<Out, In>() -> Grpc<Protobuf<Out, In>>
where
    Out: Message + 'static,
    In: Message + Default + 'static,
{
    Grpc::new(Protobuf::default())
        .max_decoding_message_size(MAX_MESSAGE)
        .max_encoding_message_size(MAX_MESSAGE)
}

/// Answers a call that has one message and one answer: `method`, aside.
pub async fn unary<S, In, Out>(
    server: Arc<S>,
    request: Request<Body>,
    method: fn(&S, In) -> Result<Out, p4_runtime::Status>,
) -> Response<Body>
where
    S: Send + Sync + 'static,
    In: Message + Default + 'static,
    Out: Message + 'static,
{
    let mut grpc = grpc::<Out, In>();
    grpc.unary(Unary { server, method }, request).await
}

struct Unary<S, In, Out> {
    server: Arc<S>,
    method: fn(&S, In) -> Result<Out, p4_runtime::Status>,
}

impl<S, In, Out> UnaryService<In> for Unary<S, In, Out>
where
    S: Send + Sync + 'static,
    In: Send + 'static,
    Out: Send + 'static,
{
    type Response = Out;
    type Future = Answer<Result<tonic::Response<Out>, Status>>;

    fn call(&mut self, request: tonic::Request<In>) -> Self::Future {
        let (server, method) = (Arc::clone(&self.server), self.method);
        let message = request.into_inner();
        Box::pin(async move {
            let answer = aside(move || method(&server, message)).await?;
            answer.map(tonic::Response::new).map_err(status)
        })
    }
}

struct Writes(Arc<Server>);

impl UnaryService<WriteRequest> for Writes {
    type Response = WriteResponse;
    type Future = Answer<Result<tonic::Response<WriteResponse>, Status>>;

    fn call(&mut self, request: tonic::Request<WriteRequest>) -> Self::Future {
        let server = Arc::clone(&self.0);
        let message = request.into_inner();
        Box::pin(async move {
            let done = match server.write_at_once(&message) {
                Some(done) => done,
                None => aside(move || server.write(&message)).await?,
            };
            done.map(tonic::Response::new).map_err(status)
        })
    }
}

struct Reads(Arc<Server>);

impl ServerStreamingService<ReadRequest> for Reads {
    type Response = ReadResponse;
    type ResponseStream = tokio_stream::Iter<std::vec::IntoIter<Result<ReadResponse, Status>>>;
    type Future = Answer<Result<tonic::Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: tonic::Request<ReadRequest>) -> Self::Future {
        let server = Arc::clone(&self.0);
        Box::pin(async move {
            let parts = aside(move || {
                let mut parts = Vec::new();
                let done = server.read(request.get_ref(), |part| parts.push(Ok(part)));
                parts.extend(done.err().map(|error| Err(status(error))));
                parts
            });
            Ok(tonic::Response::new(tokio_stream::iter(parts.await?)))
        })
    }
}

struct Channels(Arc<Server>);

impl StreamingService<StreamMessageRequest> for Channels {
    type Response = StreamMessageResponse;
    type ResponseStream = Messages;
    type Future = Answer<Result<tonic::Response<Messages>, Status>>;

    fn call(&mut self, request: tonic::Request<Streaming<StreamMessageRequest>>) -> Self::Future {
        let messages = serve(Arc::clone(&self.0), request.into_inner());
        Box::pin(async move { Ok(tonic::Response::new(messages)) })
    }
}

/// Runs what may wait for a device in a thread where nobody else waits for it.
pub async fn aside<T: Send + 'static>(
    action: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Status> {
    let done = tokio::task::spawn_blocking(action).await;
    done.map_err(|error| Status::internal(format!("the request could not be done: {error}")))
}

/// A refusal as gRPC sends it.
pub fn status(status: p4_runtime::Status) -> Status {
    let code = Code::from_i32(status.code as i32);
    Status::with_details(code, status.message, status.details.into())
}
