//! tonic's client of a gRPC service, over a pipe in place of a socket, for the tests of both services.

use bytes::Bytes;
use h2::client::SendRequest;
use h2::RecvStream;
use http::uri::PathAndQuery;
use http_body::{Body as _, Frame};
use p4_runtime_grpc::{serve, Service};
use prost::Message;
use std::future::{poll_fn, Future};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc::Receiver;
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Code, Request, Response, Status, Streaming};
use tower_service::Service as _;

/// Nothing here takes so long; a test that hangs is told from one that is slow.
pub const PATIENCE: Duration = Duration::from_secs(60);

const ORIGIN: &str = "http://switch";

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

/// A connection as tonic takes it: HTTP/2 by h2's client.
struct Wire(SendRequest<Bytes>);

impl tower_service::Service<http::Request<Body>> for Wire {
    type Response = http::Response<Answer>;
    type Error = h2::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, h2::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), h2::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let (head, mut body) = request.into_parts();
        let sent = self
            .0
            .send_request(http::Request::from_parts(head, ()), false);
        Box::pin(async move {
            let (answer, mut said) = sent?;
            tokio::spawn(async move {
                while let Some(Ok(frame)) =
                    poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
                {
                    let data = frame.into_data().expect("a client has no trailers");
                    let _ = said.send_data(data, false); // there may be nobody who listens
                }
                let _ = said.send_data(Bytes::new(), true);
            });
            answer.await.map(|answer| answer.map(Answer))
        })
    }
}

struct Answer(RecvStream);

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        Poll::Ready(match ready!(self.0.poll_data(context)) {
            Some(Ok(data)) => {
                let window = self.0.flow_control();
                Some(
                    window
                        .release_capacity(data.len())
                        .map(|()| Frame::data(data)),
                )
            }
            Some(Err(error)) => Some(Err(error)),
            None => {
                let trailers = ready!(self.0.poll_trailers(context)).transpose();
                trailers.map(|own| own.map(Frame::trailers))
            }
        })
    }
}

/// Messages by prost.
struct Protobuf<Out, In>(PhantomData<(Out, In)>);

impl<Out: Message + 'static, In: Message + Default + 'static> Codec for Protobuf<Out, In> {
    type Encode = Out;
    type Decode = In;
    type Encoder = Protobuf<Out, ()>;
    type Decoder = Protobuf<(), In>;

    fn encoder(&mut self) -> Self::Encoder {
        Protobuf(PhantomData)
    }

    fn decoder(&mut self) -> Self::Decoder {
        Protobuf(PhantomData)
    }
}

impl<Out: Message> Encoder for Protobuf<Out, ()> {
    type Item = Out;
    type Error = Status;

    fn encode(&mut self, message: Out, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        message.encode(into).expect("room");
        Ok(())
    }
}

impl<In: Message + Default> Decoder for Protobuf<(), In> {
    type Item = In;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<In>, Status> {
        let message = In::decode(from).expect("a message");
        Ok(Some(message))
    }
}

/// A client; its methods are all below `prefix`.
pub struct Client<S> {
    service: S,
    prefix: &'static str,
}

impl<S: Service> Client<S> {
    pub fn new(service: S, prefix: &'static str) -> Client<S> {
        Client { service, prefix }
    }

    fn path(&self, method: &str) -> PathAndQuery {
        format!("{}{method}", self.prefix).parse().expect("a path")
    }

    /// A connection of its own.
    async fn wire(&self) -> Wire {
        let (here, there) = tokio::io::duplex(1 << 16);
        tokio::spawn(serve(there, self.service.clone()));
        let (calls, connection) = h2::client::handshake(here).await.expect("a connection");
        tokio::spawn(connection);
        Wire(calls)
    }

    async fn grpc(&self) -> Grpc<Wire> {
        let mut grpc = Grpc::with_origin(self.wire().await, ORIGIN.parse().expect("a name"));
        grpc.ready().await.expect("a service");
        grpc
    }

    /// One message, one answer.
    pub async fn call<In, Out>(&self, method: &str, request: Request<In>) -> Result<Out, Status>
    where
        In: Message + Default + 'static,
        Out: Message + Default + 'static,
    {
        let codec = Protobuf::<In, Out>(PhantomData);
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
        let codec = Protobuf::<In, Out>(PhantomData);
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
        let codec = Protobuf::<In, Out>(PhantomData);
        let said = Request::new(ReceiverStream::new(said));
        let mut grpc = self.grpc().await;
        let answer = grpc.streaming(said, self.path(method), codec).await;
        answer.expect("a stream").into_inner()
    }

    /// The status of a call whose only frame is `said`: what no client of gRPC's would send.
    pub async fn say(&self, method: &str, said: &str) -> Code {
        let request = http::Request::post(format!("{ORIGIN}{}", self.path(method)))
            .header("content-type", "application/grpc")
            .body(Body::new(said.to_string()))
            .expect("a request");
        let answer = self.wire().await.call(request).await;
        let answer = answer.expect("an answer");
        let code = answer.headers().get("grpc-status").expect("a status");
        Code::from_bytes(code.as_bytes())
    }
}
