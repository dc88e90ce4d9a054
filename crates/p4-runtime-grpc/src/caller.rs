//! A client that measures: one call after the other over one connection, with as little of its own as
//! there can be.

use bytes::{BufMut, Bytes, BytesMut};
use h2::client::SendRequest;
use h2::RecvStream;
use http::{HeaderMap, Request};
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// In front of a message: that it is not compressed, and its length
const PREFIX: usize = 5;

/// Makes one call for each message, each when the one before has been answered, and gives how long
/// all of them took. An error of the server ends it.
pub fn one_by_one(address: SocketAddr, path: &str, messages: &[Vec<u8>]) -> io::Result<Duration> {
    let frames: Vec<Bytes> = messages.iter().map(|message| framed(message)).collect();
    let uri = format!("http://{address}{path}");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        let (mut calls, connection) = h2::client::handshake(socket).await.map_err(broken)?;
        let connection = tokio::spawn(connection);
        let start = Instant::now();
        for frame in frames {
            calls = call(calls, &uri, frame).await?;
        }
        let taken = start.elapsed();
        connection.abort();
        Ok(taken)
    })
}

fn framed(message: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(PREFIX + message.len());
    frame.put_u8(0);
    frame.put_u32(message.len() as u32);
    frame.put_slice(message);
    frame.freeze()
}

async fn call(
    calls: SendRequest<Bytes>,
    uri: &str,
    frame: Bytes,
) -> io::Result<SendRequest<Bytes>> {
    let mut calls = calls.ready().await.map_err(broken)?;
    let request = Request::post(uri)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())
        .map_err(io::Error::other)?;
    let (response, mut body) = calls.send_request(request, false).map_err(broken)?;
    body.send_data(frame, true).map_err(broken)?;
    let (head, body) = response.await.map_err(broken)?.into_parts();
    let trailers = read(body).await?;
    match status(&head.headers).or_else(|| trailers.as_ref().and_then(status)) {
        Some("0") => Ok(calls),
        other => {
            let code = other.unwrap_or("none");
            Err(io::Error::other(format!("a call ends with status {code}")))
        }
    }
}

/// Reads an answer to its end.
async fn read(mut body: RecvStream) -> io::Result<Option<HeaderMap>> {
    while let Some(data) = body.data().await {
        let length = data.map_err(broken)?.len();
        let window = body.flow_control();
        window.release_capacity(length).map_err(broken)?;
    }
    body.trailers().await.map_err(broken)
}

fn status(headers: &HeaderMap) -> Option<&str> {
    headers.get("grpc-status")?.to_str().ok()
}

fn broken(error: h2::Error) -> io::Error {
    io::Error::other(error)
}
