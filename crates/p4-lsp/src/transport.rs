//! Messages on two streams: a header with a length, then JSON.

use crate::server::{error, Server, Stage};
use serde_json::Value;
use std::io::{self, BufRead, Read, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};

const MAX_MESSAGE_BYTES: u64 = 64 << 20;
const MAX_HEADER_BYTES: u64 = 4096;

const PARSE_ERROR: i64 = -32700;
const INTERNAL_ERROR: i64 = -32603;

/// Reads messages from `input` and writes answers to `output` until the editor says `exit` or hangs
/// up. True if the conversation ended as the protocol wants it.
pub fn serve(
    server: &mut Server,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<bool> {
    while let Some(body) = read_message(input)? {
        let answers = match serde_json::from_slice::<Value>(&body) {
            Ok(message) => answer(server, &message),
            Err(reason) => {
                let message = format!("This is not JSON: {reason}.");
                vec![error(&Value::Null, PARSE_ERROR, &message)]
            }
        };
        for answer in answers {
            write_message(output, &answer)?;
        }
        output.flush()?;
        if let Stage::Over { orderly } = server.stage() {
            return Ok(orderly);
        }
    }
    Ok(false)
}

/// A defect of ours in one answer must not take the editor's other questions down with it.
fn answer(server: &mut Server, message: &Value) -> Vec<Value> {
    catch_unwind(AssertUnwindSafe(|| server.handle(message))).unwrap_or_else(|_| {
        let id = message.get("id").into_iter();
        id.map(|id| {
            error(
                id,
                INTERNAL_ERROR,
                "The server has a defect; its log says where.",
            )
        })
        .collect()
    })
}

/// The next message's body; `None` at the end of the input.
fn read_message(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut length: Option<u64> = None;
    loop {
        let mut line = Vec::new();
        input
            .by_ref()
            .take(MAX_HEADER_BYTES)
            .read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        match (line.split_once(':'), length) {
            (Some((name, value)), _) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().ok();
            }
            (Some(_), _) => {}
            (None, Some(length)) if line.is_empty() && length <= MAX_MESSAGE_BYTES => {
                let mut body = Vec::new();
                let read = input.by_ref().take(length).read_to_end(&mut body)?;
                return Ok((read as u64 == length).then_some(body));
            }
            (None, _) => {
                let reason = "a message begins with `Content-Length: ` and its length in bytes";
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
        }
    }
}

fn write_message(output: &mut impl Write, message: &Value) -> io::Result<()> {
    let body = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{body}", body.len())
}
