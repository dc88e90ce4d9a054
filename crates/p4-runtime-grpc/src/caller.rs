//! A client that measures: one call after the other over one connection, with as little of its own as
//! there can be. It speaks just enough HTTP/2 (RFC 9113) for that, because a whole client takes as
//! long for a call as a server, which makes all servers look alike.

mod headers;

use headers::Headers;
use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// In front of a frame: three bytes of length, its type, flags, and the stream
const HEAD: usize = 9;
/// What a frame may carry as long as the server has not allowed more, and what windows are at first
const FRAME: usize = 16_384;
const WINDOW: i64 = 65_535;
/// In front of a message: that it is not compressed, and its length
const PREFIX: usize = 5;
const WIDEST: u32 = (1 << 31) - 1;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;

const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

/// The one setting that matters here, in both directions
const INITIAL_WINDOW_SIZE: u16 = 4;

/// Makes one call for each message, each when the one before has been answered, and gives how long
/// all of them took. An error of the server ends it.
pub fn one_by_one(address: SocketAddr, path: &str, messages: &[Vec<u8>]) -> io::Result<Duration> {
    let mut connection = Connection::open(address)?;
    let headers = headers::of_call(path, &address.to_string());
    let start = Instant::now();
    for (index, message) in messages.iter().enumerate() {
        let block = match index {
            0 => &headers,
            _ => headers::AGAIN,
        };
        connection.call(1 + 2 * index as u32, block, message)?;
    }
    Ok(start.elapsed())
}

struct Connection {
    read: BufReader<TcpStream>,
    out: Vec<u8>,
    headers: Headers,
    /// What the server still takes, on the connection and on the call
    window: i64,
    call_window: i64,
    /// What it takes of a call at first
    initial_window: i64,
}

struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

impl Connection {
    fn open(address: SocketAddr) -> io::Result<Connection> {
        let socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        let mut connection = Connection {
            read: BufReader::new(socket),
            out: PREFACE.to_vec(),
            headers: Headers::default(),
            window: WINDOW,
            call_window: 0,
            initial_window: WINDOW,
        };
        // So wide that answers never have to be asked for
        let mut setting = INITIAL_WINDOW_SIZE.to_be_bytes().to_vec();
        setting.extend(WIDEST.to_be_bytes());
        connection.put(SETTINGS, 0, 0, &setting);
        let more = WIDEST - WINDOW as u32;
        connection.put(WINDOW_UPDATE, 0, 0, &more.to_be_bytes());
        connection.flush()?;
        // The server's settings come first.
        while connection.frame(0)?.kind != SETTINGS {}
        Ok(connection)
    }

    fn call(&mut self, stream: u32, block: &[u8], message: &[u8]) -> io::Result<()> {
        self.call_window = self.initial_window;
        self.put(HEADERS, END_HEADERS, stream, block);
        let mut framed = Vec::with_capacity(PREFIX + message.len());
        framed.push(0);
        framed.extend((message.len() as u32).to_be_bytes());
        framed.extend(message);
        self.send(stream, &framed)?;
        loop {
            let frame = self.frame(stream)?;
            let done = match frame.kind {
                HEADERS => self.headers.read(&frame.payload),
                _ => None,
            };
            if frame.stream == stream && frame.flags & END_STREAM != 0 {
                return match done {
                    Some(true) => Ok(()),
                    Some(false) => Err(broken("a call is refused")),
                    None => Err(broken("a call ends without a status")),
                };
            }
        }
    }

    /// Sends the last that a call has to say, as fast as the server takes it.
    fn send(&mut self, stream: u32, mut data: &[u8]) -> io::Result<()> {
        while !data.is_empty() {
            let taken = self.window.min(self.call_window).clamp(0, FRAME as i64);
            let part;
            (part, data) = data.split_at(data.len().min(taken as usize));
            if part.is_empty() {
                self.flush()?;
                self.frame(stream)?;
                continue;
            }
            let flags = if data.is_empty() { END_STREAM } else { 0 };
            self.put(DATA, flags, stream, part);
            self.window -= part.len() as i64;
            self.call_window -= part.len() as i64;
        }
        self.flush()
    }

    fn put(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = (payload.len() as u32).to_be_bytes();
        self.out.extend(&length[1..]);
        self.out.extend([kind, flags]);
        self.out.extend(stream.to_be_bytes());
        self.out.extend(payload);
    }

    fn flush(&mut self) -> io::Result<()> {
        self.read.get_mut().write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    /// Waits for a frame, and does what it asks for, whichever call it is of.
    fn frame(&mut self, call: u32) -> io::Result<Frame> {
        let mut head = [0; HEAD];
        self.read.read_exact(&mut head)?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        let stream = u32::from_be_bytes(stream) & WIDEST;
        let mut payload = vec![0; length];
        self.read.read_exact(&mut payload)?;
        match kind {
            SETTINGS if flags & ACK == 0 => {
                self.set(&payload);
                self.put(SETTINGS, ACK, 0, &[]);
                self.flush()?;
            }
            PING if flags & ACK == 0 => {
                self.put(PING, ACK, 0, &payload);
                self.flush()?;
            }
            WINDOW_UPDATE if stream == 0 => self.window += i64::from(number(&payload)),
            WINDOW_UPDATE if stream == call => self.call_window += i64::from(number(&payload)),
            RESET if stream == call => return Err(broken("a call is reset")),
            GOAWAY => return Err(broken("the server ends the connection")),
            _ => {}
        }
        Ok(Frame {
            kind,
            flags,
            stream,
            payload,
        })
    }

    fn set(&mut self, settings: &[u8]) {
        for setting in settings.chunks_exact(6) {
            let value = i64::from(number(&setting[2..]));
            if setting[..2] == INITIAL_WINDOW_SIZE.to_be_bytes() {
                self.call_window += value - self.initial_window;
                self.initial_window = value;
            }
        }
    }
}

/// The number that is all of a payload
fn number(payload: &[u8]) -> u32 {
    payload.try_into().map_or(0, u32::from_be_bytes)
}

fn broken(what: &'static str) -> io::Error {
    io::Error::other(what)
}
