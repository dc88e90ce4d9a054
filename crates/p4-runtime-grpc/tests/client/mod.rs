//! A client of a gRPC service, without a socket, for the tests of both services.

use http::uri::PathAndQuery;
use p4_runtime_grpc::Protobuf;
use prost::Message;
use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;
use tokio::sync::mpsc::Receiver;
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::{Code, Request, Response, Status, Streaming};
use tower_service::Service;

/// Nothing here takes so long; a test that hangs is told from one that is slow.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a test to its end.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime
        .block_on(async { tokio::time::timeout(PATIENCE, test).await })
        .expect("an end")
}

/// A client; its methods are all below `prefix`.
pub struct Client<S> {
    service: S,
    prefix: &'static str,
}

impl<S> Client<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible> + Clone,
{
    pub fn new(service: S, prefix: &'static str) -> Client<S> {
        Client { service, prefix }
    }

    fn path(&self, method: &str) -> PathAndQuery {
        format!("{}{method}", self.prefix).parse().expect("a path")
    }

    async fn grpc(&self) -> Grpc<S> {
        let mut grpc = Grpc::new(self.service.clone());
        grpc.ready().await.expect("a service");
        grpc
    }

    /// One message, one answer.
    pub async fn call<In, Out>(&self, method: &str, request: Request<In>) -> Result<Out, Status>
    where
        In: Message + Default + 'static,
        Out: Message + Default + 'static,
    {
        let codec = Protobuf::<In, Out>::default();
        let mut grpc = self.grpc().await;
        let answer = grpc.unary(request, self.path(method), codec).await;
        answer.map(Response::into_inner)
    }

    /// One message, many answers.
    pub async fn read<In, Out>(&self, method: &str, request: Request<In>) -> Streaming<Out>
    where
        In: Message + Default + 'static,
        Out: Message + Default + 'static,
    {
        let codec = Protobuf::<In, Out>::default();
        let mut grpc = self.grpc().await;
        let answer = grpc.server_streaming(request, self.path(method), codec);
        answer.await.expect("an answer").into_inner()
    }

    /// A stream in both directions: what the service says to `said`.
    pub async fn talk<In, Out>(&self, method: &str, said: Receiver<In>) -> Streaming<Out>
    where
        In: Message + Default + 'static,
        Out: Message + Default + 'static,
    {
        let codec = Protobuf::<In, Out>::default();
        let said = Request::new(ReceiverStream::new(said));
        let mut grpc = self.grpc().await;
        let answer = grpc.streaming(said, self.path(method), codec).await;
        answer.expect("a stream").into_inner()
    }

    /// The status of a call whose message is no message.
    pub async fn say_garbage(&self, method: &str) -> Code {
        // One byte, a field of a kind that does not exist, behind the five of gRPC's prefix.
        let request = http::Request::post(self.path(method))
            .header("content-type", "application/grpc")
            .body(Body::new("\0\0\0\0\x01\x0f".to_string()))
            .expect("a request");
        let answer = self.service.clone().call(request).await;
        let answer = answer.expect("an answer");
        let code = answer.headers().get("grpc-status").expect("a status");
        Code::from_bytes(code.as_bytes())
    }
}
