//! One end of one transfer: a stack with one socket, and the program that writes to it or reads it.

use p4_time::Time;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{self, CongestionControl, RecvError, SocketBuffer, State};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, IpEndpoint};

use super::frames::{Frames, ETHERNET};
use super::host::Next;
use super::{Address, Congestion, Content, Transfer, Transferred};

/// Segments that are acknowledged at once when a connection is new, as Linux does, since a sender
/// that begins with one segment would wait for each delayed acknowledgement.
const QUICK: u32 = 16;
/// How often a sender that waits for a window asks for it. A zero window that comes late, after a
/// larger one, would stop smoltcp 0.14 for good: its persist timer (RFC 9293 section 3.8.6.1) does not
/// start while that for retransmission runs. A keep-alive segment is answered with the window, too.
const PERSIST: Duration = Duration::from_secs(1);
/// Bytes of the buffers for the direction in which nothing goes.
const UNUSED: usize = 256;

/// Where one end is, and which socket of the other it talks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Socket {
    pub(crate) address: Address,
    pub(crate) port: u16,
}

impl From<Socket> for IpEndpoint {
    fn from(socket: Socket) -> IpEndpoint {
        let [a, b, c, d] = socket.address;
        IpEndpoint::new(IpAddress::v4(a, b, c, d), socket.port)
    }
}

/// The stack counts microseconds.
fn instant(time: Time) -> Instant {
    Instant::from_micros(time.micros() as i64)
}

fn duration(time: Time) -> Duration {
    Duration::from_micros(time.micros())
}

enum Program {
    Writes(Writer),
    Reads(Reader),
}

struct Writer {
    left: u64,
    stop: Time,
    written: u64,
    is_closed: bool,
    /// The end of the last segment that was new, as a sequence number
    edge: Option<u32>,
    segments: u64,
    retransmitted: u64,
}

struct Reader {
    local: Socket,
    remote: Socket,
    start: Time,
    is_open: bool,
    /// Segments that are still acknowledged at once, and how long others may wait
    quick: u32,
    ack_delay: Duration,
    delivered: u64,
    wrong: u64,
    first: Option<Time>,
    last: Option<Time>,
}

pub(crate) struct Endpoint {
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    frames: Frames,
    content: Content,
    program: Program,
    /// Frames sent and received
    counts: [u64; 2],
    /// It is in the queue of those that the card serves.
    pub(crate) is_ready: bool,
    /// When it was last arranged to run by itself
    pub(crate) alarm: Option<Time>,
}

impl Endpoint {
    /// The end that listens, and sends.
    pub(crate) fn sender(
        plan: &Transfer,
        local: Socket,
        frames: Frames,
        content: Content,
        seed: u64,
    ) -> Endpoint {
        let mut socket = socket(UNUSED, plan.buffer);
        socket.set_congestion_control(match plan.congestion {
            Congestion::Unlimited => CongestionControl::None,
            Congestion::Reno => CongestionControl::Reno,
            Congestion::Cubic => CongestionControl::Cubic,
        });
        socket.set_keep_alive(Some(PERSIST));
        // Neither port 0 nor a socket in use, the only reasons to refuse.
        let _ = socket.listen(local.port);
        let program = Program::Writes(Writer {
            left: plan.bytes,
            stop: plan.stop,
            written: 0,
            is_closed: false,
            edge: None,
            segments: 0,
            retransmitted: 0,
        });
        Endpoint::new(socket, local, frames, content, seed, program)
    }

    /// The end that connects, and receives.
    pub(crate) fn receiver(
        plan: &Transfer,
        [local, remote]: [Socket; 2],
        frames: Frames,
        content: Content,
        seed: u64,
    ) -> Endpoint {
        let mut socket = socket(plan.window, UNUSED);
        socket.set_ack_delay(None);
        let program = Program::Reads(Reader {
            local,
            remote,
            start: plan.start,
            is_open: false,
            quick: QUICK,
            ack_delay: duration(plan.ack_delay),
            delivered: 0,
            wrong: 0,
            first: None,
            last: None,
        });
        Endpoint::new(socket, local, frames, content, seed, program)
    }

    fn new(
        socket: tcp::Socket<'static>,
        local: Socket,
        mut frames: Frames,
        content: Content,
        seed: u64,
        program: Program,
    ) -> Endpoint {
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut frames, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            // All the world is on this cable, so that the stack asks for no route.
            let own = IpCidr::new(IpEndpoint::from(local).addr, 0);
            // The list is empty and has room.
            let _ = addresses.push(own);
        });
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(socket);
        Endpoint {
            interface,
            sockets,
            handle,
            frames,
            content,
            program,
            counts: [0; 2],
            is_ready: false,
            alarm: None,
        }
    }

    /// An IPv4 packet has come.
    pub(crate) fn hear(&mut self, now: Time, packet: &[u8]) {
        self.counts[1] += 1;
        self.frames.hear(packet);
        let (frames, sockets) = (&mut self.frames, &mut self.sockets);
        self.interface
            .poll_ingress_single(instant(now), frames, sockets);
        self.run(now);
    }

    /// Lets the program write or read what it can.
    pub(crate) fn run(&mut self, now: Time) {
        let socket = self.sockets.get_mut::<tcp::Socket>(self.handle);
        match &mut self.program {
            Program::Writes(writer) => writer.run(now, socket, &self.content),
            Program::Reads(reader) => {
                if !reader.is_open && reader.start <= now {
                    reader.is_open = true;
                    let context = self.interface.context();
                    // Neither port is 0 and the socket is new, the only reasons to refuse.
                    let _ = socket.connect(context, reader.remote, IpEndpoint::from(reader.local));
                }
                reader.run(now, socket, &self.content);
            }
        }
    }

    /// The frame that it sends next, if it has one; [`Endpoint::give_back`] returns its buffer.
    pub(crate) fn frame(&mut self, now: Time) -> Option<Vec<u8>> {
        if !self.frames.is_waiting() {
            let (frames, sockets) = (&mut self.frames, &mut self.sockets);
            self.interface.poll_egress(instant(now), frames, sockets);
        }
        let frame = self.frames.take()?;
        self.counts[0] += 1;
        if let Program::Writes(writer) = &mut self.program {
            writer.count(&frame[ETHERNET..]);
        }
        Some(frame)
    }

    pub(crate) fn give_back(&mut self, frame: Vec<u8>) {
        self.frames.give_back(frame);
    }

    /// When it has something to send or to do.
    pub(crate) fn next(&mut self, now: Time) -> Next {
        let moment = instant(now);
        let due = self.interface.poll_at(moment, &self.sockets);
        if self.frames.is_waiting() || due.is_some_and(|due| due <= moment) {
            return Next::Now;
        }
        let due = due.map(|due| Time::from_micros(due.total_micros() as u64));
        let own = match &self.program {
            Program::Writes(writer) if writer.left > 0 => Some(writer.stop),
            Program::Reads(reader) if !reader.is_open => Some(reader.start),
            _ => None,
        };
        let first = due.into_iter().chain(own).min();
        match first {
            Some(first) if first < Time::MAX => Next::At(first),
            _ => Next::Never,
        }
    }

    /// Adds what this end knows of a transfer, the sender first.
    pub(crate) fn report(&self, report: &mut Transferred) {
        let socket = self.sockets.get::<tcp::Socket>(self.handle);
        match &self.program {
            Program::Writes(writer) => {
                report.written = writer.written;
                report.acknowledged = writer.written - socket.send_queue() as u64;
                report.segments = writer.segments;
                report.retransmitted = writer.retransmitted;
                report.sender_frames = self.counts;
                report.done = writer.is_closed;
            }
            Program::Reads(reader) => {
                report.delivered = reader.delivered;
                report.wrong = reader.wrong;
                report.first = reader.first;
                report.last = reader.last;
                // What was written says so, and not the end of the stream: smoltcp 0.14 does not
                // send a lost FIN again once three acknowledgements of all data have come.
                report.done &= reader.delivered == report.written;
                report.receiver_frames = self.counts;
            }
        }
    }
}

fn socket(receive: usize, send: usize) -> tcp::Socket<'static> {
    let buffers = [receive, send].map(|size| SocketBuffer::new(vec![0; size]));
    let [receive, send] = buffers;
    tcp::Socket::new(receive, send)
}

impl Writer {
    fn run(&mut self, now: Time, socket: &mut tcp::Socket, content: &Content) {
        if now >= self.stop {
            self.left = 0;
        }
        if self.is_closed && socket.send_queue() == 0 {
            socket.set_keep_alive(None);
        }
        // A socket that listens is neither written to nor closed: it waits for its client.
        if self.is_closed || matches!(socket.state(), State::Listen | State::SynReceived) {
            return;
        }
        while self.left > 0 {
            let write = |buffer: &mut [u8]| {
                let length = self.left.min(buffer.len() as u64) as usize;
                content.fill(self.written, &mut buffer[..length]);
                (length, length as u64)
            };
            match socket.send(write) {
                Ok(0) => return,
                Ok(length) => {
                    self.written += length;
                    self.left -= length;
                }
                // The connection is no more.
                Err(_) => self.left = 0,
            }
        }
        self.is_closed = true;
        socket.close();
    }

    /// Counts an IPv4 packet that is sent; the stack writes no IPv4 options.
    fn count(&mut self, packet: &[u8]) {
        const IPV4: usize = 20;
        let total = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
        let tcp = &packet[IPV4..];
        let sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
        let header = usize::from(tcp[12] >> 4) * 4;
        let length = total - IPV4 - header;
        if length == 0 {
            return;
        }
        self.segments += 1;
        let end = sequence.wrapping_add(length as u32);
        // Distances of sequence numbers are signed, RFC 9293 section 3.4.
        match self.edge {
            Some(edge) if (end.wrapping_sub(edge) as i32) <= 0 => self.retransmitted += 1,
            _ => self.edge = Some(end),
        }
    }
}

impl Reader {
    fn run(&mut self, now: Time, socket: &mut tcp::Socket, content: &Content) {
        let before = self.delivered;
        loop {
            let read = socket.recv(|bytes| {
                self.wrong += content.differences(self.delivered, bytes);
                (bytes.len(), bytes.len() as u64)
            });
            match read {
                Ok(0) => break,
                Ok(length) => self.delivered += length,
                Err(RecvError::Finished) => {
                    socket.close();
                    break;
                }
                Err(RecvError::InvalidState) => break,
            }
        }
        if self.delivered == before {
            return;
        }
        self.first.get_or_insert(now);
        self.last = Some(now);
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                socket.set_ack_delay(Some(self.ack_delay));
            }
        }
    }
}
