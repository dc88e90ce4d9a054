//! Digests on their way to the controller. Specification, 9.8.

use crate::messages::{DigestConfig, DigestList, DigestListAck, P4Data};
use prost::Message;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, VecDeque};

/// Digests that wait, and those that have been told but not acknowledged; more are lost.
const MOST: usize = 16_384;

/// The digests of one device. Times in nanoseconds since the Epoch.
#[derive(Debug, Default)]
pub struct Learning {
    queues: BTreeMap<u32, Queue>,
    next_list: u64,
}

/// The digests of one kind.
#[derive(Debug, Default)]
struct Queue {
    config: DigestConfig,
    waiting: Vec<P4Data>,
    /// When the first of them came
    since: i64,
    /// Those that are not to be told again, as bytes: the waiting and the told
    known: FxHashSet<Vec<u8>>,
    told: VecDeque<Told>,
}

#[derive(Debug)]
struct Told {
    list: u64,
    at: i64,
    digests: Vec<Vec<u8>>,
}

impl Learning {
    /// From now on the digests in `configs` are told, and no others.
    pub fn configure(&mut self, configs: &BTreeMap<u32, DigestConfig>) {
        self.queues.retain(|id, _| configs.contains_key(id));
        for (id, config) in configs {
            self.queues.entry(*id).or_default().config = *config;
        }
    }

    /// Whether anybody wants digests of this kind.
    pub fn wants(&self, digest: u32) -> bool {
        self.queues.contains_key(&digest)
    }

    /// Takes a digest; gives a list if one is full with it.
    pub fn offer(&mut self, digest: u32, data: P4Data, now: i64) -> Option<DigestList> {
        let queue = self.queues.get_mut(&digest)?;
        queue.forget(now);
        if queue.known.len() >= MOST || !queue.known.insert(data.encode_to_vec()) {
            return None;
        }
        if queue.waiting.is_empty() {
            queue.since = now;
        }
        queue.waiting.push(data);
        let most = usize::try_from(queue.config.max_list_size).unwrap_or(0);
        let full = most > 0 && queue.waiting.len() >= most;
        (full || queue.config.max_timeout_ns == 0).then(|| self.send(digest, now))?
    }

    /// The lists whose time has come.
    pub fn due(&mut self, now: i64) -> Vec<DigestList> {
        let is_due = |queue: &Queue| {
            !queue.waiting.is_empty() && now - queue.since >= queue.config.max_timeout_ns
        };
        let due = self.queues.iter().filter(|(_, queue)| is_due(queue));
        let due: Vec<u32> = due.map(|(id, _)| *id).collect();
        due.into_iter()
            .filter_map(|id| self.send(id, now))
            .collect()
    }

    fn send(&mut self, digest: u32, now: i64) -> Option<DigestList> {
        let queue = self.queues.get_mut(&digest)?;
        let data = std::mem::take(&mut queue.waiting);
        self.next_list += 1;
        let list_id = self.next_list;
        let digests: Vec<Vec<u8>> = data.iter().map(Message::encode_to_vec).collect();
        queue.told.push_back(Told {
            list: list_id,
            at: now,
            digests,
        });
        queue.forget(now);
        Some(DigestList {
            digest_id: digest,
            list_id,
            data,
            timestamp: now,
        })
    }

    /// The client has acted on a list. `false`: there is no such digest here.
    pub fn acknowledge(&mut self, ack: &DigestListAck) {
        if let Some(queue) = self.queues.get_mut(&ack.digest_id) {
            let at = queue.told.iter().position(|told| told.list == ack.list_id);
            let told = at.and_then(|at| queue.told.remove(at));
            told.into_iter().for_each(|told| queue.drop_told(told));
        }
    }
}

impl Queue {
    /// Lets those be told again whose acknowledgement has not come in time.
    fn forget(&mut self, now: i64) {
        let timeout = self.config.ack_timeout_ns;
        while let Some(told) = self.told.pop_front_if(|told| now - told.at >= timeout) {
            self.drop_told(told);
        }
    }

    fn drop_told(&mut self, told: Told) {
        for digest in &told.digests {
            self.known.remove(digest);
        }
    }
}
