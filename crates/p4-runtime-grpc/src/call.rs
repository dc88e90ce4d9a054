//! One call: messages and a status of gRPC on a stream of HTTP/2.

use base64::engine::general_purpose::STANDARD_NO_PAD;
use base64::Engine;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use h2::server::SendResponse;
use h2::{RecvStream, SendStream};
use http::header::{HeaderMap, HeaderName, HeaderValue, CONTENT_TYPE};
use http::{request, Response};
use p4_runtime::{Code, Status};
use prost::Message;
use std::fmt::Write;
use std::future::{poll_fn, Future};
use std::marker::PhantomData;
use tokio::sync::mpsc::Receiver;
use tokio::sync::OwnedSemaphorePermit;

/// In front of a message: whether it is compressed, and its length
const PREFIX: usize = 5;
/// Messages may be so large: the answer to two million keys that are not there, as a test of the SDE
/// asks for them (bri_grpc_error), has less.
const MAX_MESSAGE: usize = 256 << 20;
/// Room that is made for a message before any of it has come
const ROOM: usize = 1 << 20;

const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const TEXT: HeaderName = HeaderName::from_static("grpc-message");
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");

/// A call that has come and waits for its answer.
pub struct Call {
    head: request::Parts,
    body: RecvStream,
    reply: SendResponse<Bytes>,
    turn: OwnedSemaphorePermit,
}

impl Call {
    pub fn new(
        request: http::Request<RecvStream>,
        reply: SendResponse<Bytes>,
        turn: OwnedSemaphorePermit,
    ) -> Call {
        let (head, body) = request.into_parts();
        Call {
            head,
            body,
            reply,
            turn,
        }
    }

    pub fn path(&self) -> &str {
        self.head.uri.path()
    }

    /// Whether the client has sent this header with this value.
    pub fn says(&self, name: &str, value: &str) -> bool {
        let sent = self.head.headers.get(name);
        sent.is_some_and(|sent| sent == value)
    }

    /// What the client says, and the way to answer it.
    pub fn split<In: Message + Default, Out: Message>(self) -> (Requests<In>, Answers<Out>) {
        let requests = Requests {
            body: self.body,
            read: Bytes::new(),
            of: PhantomData,
        };
        let answers = Answers {
            reply: self.reply,
            body: None,
            turn: Some(self.turn),
            of: PhantomData,
        };
        (requests, answers)
    }

    /// Answers a call that has one message with what `method` makes of it.
    pub async fn unary<In, Out, Done>(self, method: impl FnOnce(In) -> Done)
    where
        In: Message + Default,
        Out: Message,
        Done: Future<Output = Result<Out, Status>>,
    {
        let (requests, answers) = self.split();
        let done = match requests.only().await {
            Ok(message) => method(message).await,
            Err(status) => Err(status),
        };
        answers.one(done);
    }

    pub fn refuse(self, status: Status) {
        let (_, answers) = self.split::<(), ()>();
        answers.end(Err(status));
    }
}

/// The messages of a client.
pub struct Requests<In> {
    body: RecvStream,
    /// What has come and is not yet taken
    read: Bytes,
    of: PhantomData<fn() -> In>,
}

impl<In: Message + Default> Requests<In> {
    /// The next message; `None` when the client has said all.
    pub async fn next(&mut self) -> Result<Option<In>, Status> {
        while self.read.len() < PREFIX {
            let Some(more) = self.more().await? else {
                return match self.read.is_empty() {
                    true => Ok(None),
                    false => Err(cut()),
                };
            };
            // A message that comes in one piece is not copied.
            self.read = match self.read.is_empty() {
                true => more,
                false => [&self.read[..], &more[..]].concat().into(),
            };
        }
        let compressed = self.read.get_u8() != 0;
        let length = self.read.get_u32() as usize;
        if compressed {
            let message = "compressed messages are not taken";
            return Err(Status::new(Code::Unimplemented, message));
        }
        if length > MAX_MESSAGE {
            return Err(too_long(length));
        }
        let message = match self.read.len() < length {
            true => self.rest(length).await?,
            false => self.read.split_to(length),
        };
        // Its bytestrings are parts of it, not copies.
        In::decode(message).map(Some).map_err(|error| {
            let message = format!("the message cannot be read: {error}");
            Status::new(Code::InvalidArgument, message)
        })
    }

    /// A message of which only a part has come.
    async fn rest(&mut self, length: usize) -> Result<Bytes, Status> {
        let mut message = BytesMut::with_capacity(length.min(ROOM));
        message.put(std::mem::take(&mut self.read));
        while message.len() < length {
            let mut more = self.more().await?.ok_or_else(cut)?;
            let own = more.split_to(more.len().min(length - message.len()));
            message.put(own);
            self.read = more;
        }
        Ok(message.freeze())
    }

    async fn more(&mut self) -> Result<Option<Bytes>, Status> {
        let Some(more) = self.body.data().await else {
            return Ok(None);
        };
        let more = more.map_err(|_| gone())?;
        let window = self.body.flow_control();
        window.release_capacity(more.len()).map_err(|_| gone())?;
        Ok(Some(more))
    }

    /// The message of a call that has one.
    pub async fn only(mut self) -> Result<In, Status> {
        let message = self.next().await?;
        while !self.body.is_end_stream() && self.more().await?.is_some() {}
        message.ok_or_else(|| Status::new(Code::Internal, "the call has no message"))
    }
}

fn cut() -> Status {
    Status::new(Code::Internal, "the call ends within a message")
}

fn gone() -> Status {
    Status::new(Code::Unavailable, "the client has gone")
}

fn too_long(length: usize) -> Status {
    let message = format!("a message of {length} bytes is too long, {MAX_MESSAGE} are the most");
    Status::new(Code::ResourceExhausted, message)
}

/// The way to a client that has called.
pub struct Answers<Out> {
    reply: SendResponse<Bytes>,
    /// Once the answer has begun
    body: Option<SendStream<Bytes>>,
    /// Held until then: what comes after is not work but waiting for the client
    turn: Option<OwnedSemaphorePermit>,
    of: PhantomData<fn(Out)>,
}

impl<Out: Message> Answers<Out> {
    /// Tells the client that its call is answered, before there is anything to say.
    pub fn begin(&mut self) -> Result<&mut SendStream<Bytes>, Status> {
        self.turn = None;
        if self.body.is_none() {
            let mut head = Response::new(());
            head.headers_mut().insert(CONTENT_TYPE, GRPC);
            let body = self.reply.send_response(head, false);
            self.body = Some(body.map_err(|_| gone())?);
        }
        self.body.as_mut().ok_or_else(gone)
    }

    /// Sends a message when the client takes it.
    pub async fn send(&mut self, message: &Out) -> Result<(), Status> {
        let mut frame = framed(message)?;
        let body = self.begin()?;
        while !frame.is_empty() {
            body.reserve_capacity(frame.len());
            let room = poll_fn(|context| body.poll_capacity(context)).await;
            let room = room.and_then(Result::ok).ok_or_else(gone)?;
            let part = frame.split_to(room.min(frame.len()));
            body.send_data(part, false).map_err(|_| gone())?;
        }
        Ok(())
    }

    /// Sends what comes, until that ends or the client has gone.
    pub async fn all(mut self, messages: &mut Receiver<Result<Out, Status>>) {
        loop {
            let Ok(body) = self.begin() else {
                return;
            };
            let next = tokio::select! {
                next = messages.recv() => next,
                _ = poll_fn(|context| body.poll_reset(context)) => return,
            };
            let sent = match next {
                Some(Ok(message)) => self.send(&message).await,
                Some(Err(status)) => Err(status),
                None => return self.end(Ok(())),
            };
            if sent.is_err() {
                return self.end(sent);
            }
        }
    }

    /// The answer of a call that has one.
    fn one(mut self, done: Result<Out, Status>) {
        let frame = done.and_then(|message| framed(&message));
        let frame = match frame {
            Ok(frame) => frame,
            Err(status) => return self.end(Err(status)),
        };
        let Ok(body) = self.begin() else {
            return;
        };
        // All is here: HTTP/2 sends it, with the status, as fast as the client takes it.
        if body.send_data(frame, false).is_ok() {
            self.end(Ok(()));
        }
    }

    /// Says how the call has ended. A client that has gone does not hear it.
    pub fn end(mut self, done: Result<(), Status>) {
        let trailers = match done {
            Ok(()) => HeaderMap::from_iter([(STATUS, HeaderValue::from_static("0"))]),
            Err(status) => refusal(status),
        };
        match &mut self.body {
            Some(body) => {
                let _ = body.send_trailers(trailers);
            }
            None => {
                let mut head = Response::new(());
                *head.headers_mut() = trailers;
                head.headers_mut().insert(CONTENT_TYPE, GRPC);
                let _ = self.reply.send_response(head, true);
            }
        }
    }
}

fn framed(message: &impl Message) -> Result<Bytes, Status> {
    let length = message.encoded_len();
    if length > MAX_MESSAGE {
        return Err(too_long(length));
    }
    let mut frame = BytesMut::with_capacity(PREFIX + length);
    frame.put_u8(0);
    frame.put_u32(length as u32);
    // There is room for it.
    let _ = message.encode(&mut frame);
    Ok(frame.freeze())
}

/// A refusal as gRPC sends it.
fn refusal(status: Status) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(STATUS, HeaderValue::from(status.code as i32));
    let details = STANDARD_NO_PAD.encode(status.details);
    let texts = [(TEXT, escaped(&status.message)), (DETAILS, details)];
    for (name, text) in texts {
        // Both are of letters that a header may have.
        if let Some(value) = HeaderValue::try_from(text)
            .ok()
            .filter(|own| !own.is_empty())
        {
            headers.insert(name, value);
        }
    }
    headers
}

/// A text whose other bytes than printable ASCII are numbers (gRPC over HTTP2, "Responses").
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'%' | ..b' ' | 0x7f.. => {
                let _ = write!(escaped, "%{byte:02X}");
            }
            _ => escaped.push(char::from(byte)),
        }
    }
    escaped
}
