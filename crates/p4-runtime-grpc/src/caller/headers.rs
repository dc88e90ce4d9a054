//! Headers as HTTP/2 compresses them (RFC 7541), as far as a client has to understand them that only
//! wants to know whether its calls are done.

/// How the name of gRPC's status and its value "0" are written: plain, or by Huffman's code
const STATUS: [&[u8]; 2] = [b"\x0bgrpc-status", b"\x88\x9a\xca\xc8\xb2\x12\x34\xda\x8f"];
const DONE: [&[u8]; 2] = [b"\x010", b"\x81\x07"];

/// Of so many headers every table knows the numbers; those after it are of what has been sent.
const KNOWN: usize = 61;

/// The headers of a call: those of every table by their numbers, the others in full and to be
/// remembered.
pub fn of_call(path: &str, authority: &str) -> Vec<u8> {
    let mut block = vec![0x83, 0x86]; // :method POST, :scheme http
    for (name, value) in [(0x44, path), (0x41, authority), (0x5f, "application/grpc")] {
        block.push(name); // :path, :authority, content-type
        text(&mut block, value);
    }
    block.push(0x40);
    text(&mut block, "te");
    text(&mut block, "trailers");
    block
}

/// The same once they are remembered; the number of the last is the lowest.
pub const AGAIN: &[u8] = &[0x83, 0x86, 0xc1, 0xc0, 0xbf, 0xbe];

fn text(block: &mut Vec<u8>, text: &str) {
    block.push(text.len() as u8); // all are shorter than the 127 bytes that one byte can say
    block.extend(text.as_bytes());
}

/// What a server has sent, the last first.
#[derive(Default)]
pub struct Headers(Vec<Header>);

/// A name and a value as they are written; the name is empty if it is one that all know.
type Header = (Vec<u8>, Vec<u8>);

impl Headers {
    /// Whether these say that a call is done; `None` if they do not say how it ended.
    pub fn read(&mut self, block: &[u8]) -> Option<bool> {
        let mut block = Block(block);
        let mut done = None;
        while let Some(first) = block.peek() {
            let (name, value) = match first {
                0x80.. => self.sent(block.number(7)?),
                0x20..0x40 => {
                    block.number(5)?; // a new size of the table
                    continue;
                }
                _ => {
                    let remember = first & 0x40 != 0;
                    let name = match block.number(if remember { 6 } else { 4 })? {
                        0 => block.text()?.to_vec(),
                        number => self.sent(number).0,
                    };
                    let header = (name, block.text()?.to_vec());
                    if remember {
                        self.0.insert(0, header.clone());
                    }
                    header
                }
            };
            if STATUS.contains(&name.as_slice()) {
                done = Some(DONE.contains(&value.as_slice()));
            }
        }
        done
    }

    fn sent(&self, number: usize) -> Header {
        let place = number.checked_sub(KNOWN + 1);
        place
            .and_then(|place| self.0.get(place))
            .cloned()
            .unwrap_or_default()
    }
}

/// What is left of a block of headers.
struct Block<'a>(&'a [u8]);

impl<'a> Block<'a> {
    fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// A number of which the first byte has the lowest `bits`.
    fn number(&mut self, bits: u32) -> Option<usize> {
        let most = (1 << bits) - 1;
        let mut number = usize::from(self.byte()?) & most;
        if number == most {
            let mut shift = 0;
            loop {
                let more = usize::from(self.byte()?);
                number += (more & 0x7f).checked_shl(shift)?;
                shift += 7;
                if more & 0x80 == 0 {
                    break;
                }
            }
        }
        Some(number)
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// A text as it is written, with its length.
    fn text(&mut self) -> Option<&'a [u8]> {
        let whole = self.0;
        let length = self.number(7)?;
        self.0 = self.0.get(length..)?;
        Some(&whole[..whole.len() - self.0.len()])
    }
}
