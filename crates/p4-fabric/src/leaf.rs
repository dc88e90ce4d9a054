//! A leaf: its ports, its crossbar, and the adapters of its servers. It shares nothing with the other
//! leaves and the spines, and tells them everything by messages that take time.

use std::sync::Arc;

use p4_net::partition::{Inbox, Letter, Outbox};
use p4_net::{EventQueue, Ranked, Rng, Time};

use crate::arbiter::{Islip, Mask};
use crate::cache::Cache;
use crate::measure::Measures;
use crate::parameters::Parameters;
use crate::plan::Plan;
use crate::policies::Policies;
use crate::scenario::PORTS;
use crate::slab::{List, Slab};
use crate::snapshot::LeafLoad;
use crate::state::{
    Adapter, Announced, Cell, End, Frame, Header, Link, Node, Port, Row, Source, Voq,
};

/// Something that happens at a leaf.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// An adapter may send a frame. Void unless this is when it last wanted to.
    Look {
        place: u8,
    },
    /// STOP or GO comes to a server
    Pause {
        place: u8,
        stop: bool,
    },
    /// The crossbar's next slot
    Slot,
    /// The line to a server, or a loop, has taken a whole frame
    LineFree {
        place: u8,
    },
    /// A suspended VOQ has waited for long enough
    Timeout {
        voq: u32,
        epoch: u32,
    },
    /// A rate limiter's timer
    Timer {
        source: u32,
        epoch: u32,
    },
    Sample,
    /// A note of the leaf to itself
    Told(Note),
}

impl Ranked for Event {}

/// What ports tell each other. VOQs, far ends, headers and sources are the receiver's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Note {
    Request {
        end: u32,
        units: u32,
        bytes: u32,
    },
    Grant {
        voq: u32,
        units: u32,
    },
    /// Credits that nothing needs any more
    Return {
        end: u32,
        units: u32,
    },
    Acknowledge {
        header: u32,
    },
    /// A frame did not come as it was sent
    Retransmit {
        header: u32,
    },
    /// A congestion notification
    Notify {
        source: u32,
        feedback: u8,
    },
}

/// What happens at a leaf or spine because of another one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mail {
    Note(Note),
    Cell(Cell),
}

/// What leaves and spines send to each other.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    Mail(Mail),
    /// There is room for a cell at the far end of a link: that to a spine, or that to a leaf
    Credit {
        of: u8,
    },
    /// A copy will come. In a box, since messages are many and these are few
    Announced(Box<Announced>),
}

/// Inputs of the crossbar as iSLIP sees them: lanes from the spines, then each port's payload
/// interface, then each port's cached cells, which may go to several outputs at once.
const INPUTS: usize = 3 * PORTS;
const CACHED: Mask = 0xFF << (2 * PORTS);

#[derive(Clone)]
pub(crate) struct Leaf {
    pub(crate) number: u16,
    pub(crate) parameters: Arc<Parameters>,
    pub(crate) policies: Arc<Policies>,
    pub(crate) now: u64,
    /// When a frame or a cell was last on its way
    pub(crate) moved: u64,
    pub(crate) queue: EventQueue<Event>,
    pub(crate) inbox: Inbox<Mail>,
    /// Mail of one moment
    due: Vec<(u32, Mail)>,
    /// To other partitions: leaves by their number, then spines
    pub(crate) out: Outbox<Message>,
    /// The number of the first spine
    pub(crate) spines: u32,
    pub(crate) frames: Slab<Frame>,
    pub(crate) headers: Slab<Header>,
    /// That have passed a spine and not yet this crossbar
    pub(crate) cells: Slab<Cell>,
    /// By frame x cells of the largest frame + cell
    pub(crate) rows: Vec<Row>,
    pub(crate) stride: usize,
    pub(crate) voqs: Vec<Voq>,
    pub(crate) ends: Vec<End>,
    /// Of the far ends at their arbiters
    pub(crate) deficits: Vec<u64>,
    pub(crate) ports: Vec<Port>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) sources: Vec<Source>,
    pub(crate) adapters: Vec<Adapter>,
    pub(crate) measures: Measures,
    /// Of decisions at ports, and of the links that cells take
    pub(crate) rng: Rng,
    pub(crate) spray_rng: Rng,
    pub(crate) plan: Plan,
    pub(crate) cache: Cache,
    pub(crate) islip: Islip,
    /// Links to spines
    pub(crate) up: Vec<Link>,
    /// Cells from the spines, by lane of the crossbar and port
    pub(crate) came: [[List; PORTS]; PORTS],
    /// Lanes with cells for a port
    pub(crate) lanes: [Mask; PORTS],
    pub(crate) turn: u32,
    pub(crate) next_link: usize,
    /// A slot is in the event queue
    pub(crate) awake: bool,
    /// When the last slot began
    pub(crate) last: u64,
    pub(crate) load: LeafLoad,
}

impl Leaf {
    /// Number `number` of `leaves`.
    pub(crate) fn new(
        number: u16,
        leaves: usize,
        seed: u64,
        parameters: &Arc<Parameters>,
        measures: Measures,
    ) -> Leaf {
        let links = (0..parameters.links).map(|_| Link::new(parameters.hop_credits));
        Leaf {
            number,
            parameters: Arc::clone(parameters),
            policies: Arc::default(),
            now: 0,
            moved: 0,
            queue: EventQueue::default(),
            inbox: Inbox::default(),
            due: Vec::new(),
            out: Outbox::default(),
            spines: leaves as u32,
            frames: Slab::default(),
            headers: Slab::default(),
            cells: Slab::default(),
            rows: Vec::new(),
            stride: parameters.units(parameters.frame_most) as usize,
            voqs: Vec::new(),
            ends: Vec::new(),
            deficits: Vec::new(),
            ports: (0..PORTS).map(|_| Port::new(parameters)).collect(),
            nodes: Vec::new(),
            sources: Vec::new(),
            adapters: vec![Adapter::default(); PORTS],
            measures,
            rng: Rng::new(seed, u64::from(number) + 2_000_000),
            spray_rng: Rng::new(seed, u64::from(number) + 1_000_000),
            plan: Plan::default(),
            cache: Cache::new(parameters.cache_lines, parameters.cache_spare),
            islip: Islip::new(INPUTS, PORTS, CACHED),
            up: links.collect(),
            came: [[List::EMPTY; PORTS]; PORTS],
            lanes: [0; PORTS],
            turn: 0,
            next_link: 0,
            awake: false,
            last: 0,
            load: LeafLoad::default(),
        }
    }

    pub(crate) fn next_time(&self) -> Option<Time> {
        let own = self.queue.next_time();
        let mail = self.inbox.next();
        own.into_iter().chain(mail).min()
    }

    pub(crate) fn receive(&mut self, letter: Letter<Message>) {
        match letter.message {
            Message::Credit { of } => {
                let link = &mut self.up[usize::from(of)];
                link.returns.push_back(letter.time.picos());
            }
            Message::Announced(announced) => self.announced(*announced),
            Message::Mail(message) => self.inbox.put(Letter {
                time: letter.time,
                from: letter.from,
                message,
            }),
        }
    }

    /// Carries out all that happens until `last`; the number of events.
    pub(crate) fn run(&mut self, last: Time) -> u64 {
        let before = self.measures.totals.events;
        loop {
            let mail = self.inbox.next().filter(|time| *time <= last);
            let end = match mail {
                Some(time) => time - Time::from_picos(1),
                None => last,
            };
            // Nothing can come at the very first moment: a message takes time.
            while let Some((time, event)) = self.queue.pop(end) {
                self.now = time.picos();
                self.measures.totals.events += 1;
                self.handle(event);
            }
            let Some(time) = mail else { break };
            self.now = time.picos();
            let mut due = std::mem::take(&mut self.due);
            self.inbox.take(&mut due);
            self.measures.totals.events += due.len() as u64;
            for (_, mail) in &due {
                match mail {
                    Mail::Note(note) => self.told(*note),
                    Mail::Cell(cell) => self.cell_came(*cell),
                }
            }
            self.due = due;
        }
        self.measures.totals.events - before
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Look { place } => self.look(usize::from(place)),
            Event::Pause { place, stop } => self.paused(usize::from(place), stop),
            Event::Slot => self.slot(),
            Event::LineFree { place } => self.line_free(usize::from(place)),
            Event::Timeout { voq, epoch } => self.timeout(voq, epoch),
            Event::Timer { source, epoch } => self.timer(source, epoch),
            Event::Sample => {
                self.measures.cache.push(self.cache.occupied() as u32);
                self.after(self.measures.interval, Event::Sample);
            }
            Event::Told(note) => self.told(note),
        }
    }

    fn told(&mut self, note: Note) {
        match note {
            Note::Request { end, units, bytes } => self.requested(end, units, bytes),
            Note::Grant { voq, units } => self.granted(voq, units),
            Note::Return { end, units } => self.returned(end, units),
            Note::Acknowledge { header } => self.acknowledged(header),
            Note::Retransmit { header } => self.retransmit(header),
            Note::Notify { source, feedback } => self.notified(source, feedback),
        }
    }

    #[inline]
    pub(crate) fn after(&mut self, picos: u64, event: Event) {
        self.queue
            .arrange(Time::from_picos(self.now + picos), event);
    }

    /// Tells a leaf something, which takes so many picoseconds.
    #[inline]
    pub(crate) fn tell(&mut self, leaf: u16, picos: u64, note: Note) {
        if leaf == self.number {
            return self.after(picos, Event::Told(note));
        }
        let note = Message::Mail(Mail::Note(note));
        self.send(u32::from(leaf), self.now + picos, note);
    }

    /// Sends something to another partition that happens there at `time`.
    #[inline]
    pub(crate) fn send(&mut self, to: u32, time: u64, message: Message) {
        let (time, from) = (Time::from_picos(time), u32::from(self.number));
        let letter = Letter {
            time,
            from,
            message,
        };
        self.out.send(to, letter);
    }

    /// Picoseconds that a message takes between the two ends of a VOQ.
    #[inline]
    pub(crate) fn message(&self, remote: bool) -> u64 {
        match remote {
            true => self.parameters.request_remote,
            false => self.parameters.request_local,
        }
    }
}
