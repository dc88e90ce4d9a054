//! Tables with many entries against a linear search, while entries come, change and go. If this
//! fails, a table answers right while it is small and wrong once it is of use.

use crate::support;

use p4_state::*;
use proptest::prelude::*;
use support::{limbs, number, ones, program, set, state, Simple};

/// Numbers that follow from a seed (Marsaglia's xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// A match on `width` bits. There are few masks and many values, as in tables of real use.
fn a_match(kind: &str, width: u32, numbers: &mut Numbers) -> (Match, Simple) {
    let all = ones(width);
    let value = u128::from(numbers.next()) & all;
    let masked = |mask: u128| Simple::Masked(value & mask, mask);
    match kind {
        "lpm" => {
            let length = (numbers.below(5) as u32 * width / 4).min(width);
            let mask = all & !ones(width - length);
            let value = number(value & mask);
            (Match::Lpm { value, length }, masked(mask))
        }
        "ternary" => match numbers.below(4) {
            0 => (Match::Any, masked(0)),
            shift => {
                let mask = all & !ones(shift as u32 * width / 4);
                let (value, given) = (number(value & mask), number(mask));
                if mask == 0 {
                    return (Match::Any, masked(0));
                }
                let given = Match::Ternary { value, mask: given };
                (given, masked(mask))
            }
        },
        "range" => {
            let high = value.saturating_add(u128::from(numbers.below(40))).min(all);
            let (low, high) = match numbers.below(20) {
                0 => (0, all),
                _ => (value, high),
            };
            let given = Match::Range {
                low: number(low),
                high: number(high),
            };
            (given, Simple::Range(low, high))
        }
        "optional" if numbers.below(4) == 0 => (Match::Any, masked(0)),
        "optional" => (Match::Optional(number(value)), masked(all)),
        _ => {
            // Few exact values, so that many rules share one.
            let value = value & 1;
            (Match::Exact(number(value)), Simple::Masked(value, all))
        }
    }
}

struct Known {
    key: EntryKey,
    matches: Vec<Simple>,
    number: u32,
}

struct Table {
    keys: Vec<(&'static str, u32)>,
    priorities: bool,
    state: State,
    known: Vec<Known>,
    written: u32,
}

impl Table {
    fn new(keys: &[(&'static str, u32)]) -> Table {
        let general = |kind: &str| matches!(kind, "ternary" | "range" | "optional");
        let mut program = program(keys, vec![]);
        program.tables[0].size = Some(1 << 20);
        Table {
            keys: keys.to_vec(),
            priorities: keys.iter().any(|(kind, _)| general(kind)),
            state: state(program),
            known: Vec::new(),
            written: 0,
        }
    }

    fn entry(&mut self, numbers: &mut Numbers) -> Known {
        let pairs = self.keys.iter().map(|(k, w)| a_match(k, *w, numbers));
        let (matches, simple): (Vec<_>, Vec<_>) = pairs.unzip();
        let names = (0..).map(|i| format!("k{i}"));
        self.written += 1;
        Known {
            key: EntryKey {
                table: "t".into(),
                matches: names.zip(matches).collect(),
                // Few priorities, so that age decides often.
                priority: if self.priorities {
                    1 + numbers.below(3) as u32
                } else {
                    0
                },
            },
            matches: simple,
            number: self.written,
        }
    }

    fn insert(&mut self, numbers: &mut Numbers) {
        let new = self.entry(numbers);
        let there = |k: &Known| k.matches == new.matches && k.key.priority == new.key.priority;
        let known = self.known.iter().any(there);
        let update = Update::Insert(Entry {
            key: new.key.clone(),
            target: set(new.number),
        });
        assert_eq!(self.state.write(&[update]).is_err(), known);
        if !known {
            self.known.push(new);
        }
    }

    fn change(&mut self, numbers: &mut Numbers) {
        let index = numbers.below(self.known.len() as u64) as usize;
        if numbers.below(3) == 0 {
            self.written += 1;
            self.known[index].number = self.written;
            let key = self.known[index].key.clone();
            let target = set(self.written);
            let update = Update::Modify(Entry { key, target });
            self.state.write(&[update]).expect("it is there");
        } else {
            let gone = self.known.remove(index);
            let update = Update::Delete(gone.key);
            self.state.write(&[update]).expect("it is there");
        }
    }

    /// A batch that puts much in and takes much out, and fails at its end.
    fn fail(&mut self, numbers: &mut Numbers) {
        let gone = self.known.iter().step_by(3);
        let mut batch: Vec<Update> = gone.map(|k| Update::Delete(k.key.clone())).collect();
        for _ in 0..100 {
            let new = self.entry(numbers);
            let target = set(new.number);
            batch.push(Update::Insert(Entry {
                key: new.key,
                target,
            }));
        }
        batch.push(Update::Clear {
            table: "nowhere".into(),
        });
        self.state.write(&batch).expect_err("no such table");
    }

    /// What a linear search finds: the greatest priority or longest prefix, the oldest of those.
    fn expected(&self, values: &[u128]) -> Option<u32> {
        let fits = |entry: &&Known| {
            let pairs = entry.matches.iter().zip(values);
            pairs.into_iter().all(|(given, value)| given.holds(*value))
        };
        let rank = |entry: &Known| match self.priorities {
            true => entry.key.priority,
            false => {
                let bits = entry.matches.iter().map(|given| match given {
                    Simple::Masked(_, mask) => mask.count_ones(),
                    Simple::Range(..) => 0,
                });
                bits.sum()
            }
        };
        let mut best: Option<&Known> = None;
        for entry in self.known.iter().filter(fits) {
            if best.is_none_or(|best| rank(entry) > rank(best)) {
                best = Some(entry);
            }
        }
        best.map(|entry| entry.number)
    }

    /// Looks up keys near entries and keys at random.
    fn check(&mut self, numbers: &mut Numbers) {
        for _ in 0..40 {
            let near = match self.known.len() as u64 {
                0 => None,
                count => Some(numbers.below(count) as usize),
            };
            let mut values = Vec::new();
            for (i, (_, width)) in self.keys.iter().enumerate() {
                let noise = u128::from(numbers.next()) & ones(*width);
                let entry = near.filter(|_| numbers.below(8) != 0);
                values.push(match entry.map(|e| &self.known[e].matches[i]) {
                    Some(Simple::Masked(value, mask)) => (noise & !mask | value) & ones(*width),
                    Some(Simple::Range(low, high)) => low + noise % (high - low + 1),
                    None => noise,
                });
            }
            let mut key = Vec::new();
            for ((_, width), value) in self.keys.iter().zip(&values) {
                key.extend(limbs(*value, *width));
            }
            let expected = self.expected(&values);
            let found = self.state.lookup(0, &key, 0, 0, |_, _, _| None);
            let number = found.hit.then(|| found.data[0] as u32);
            assert_eq!(
                number,
                expected,
                "for {values:x?} among {}",
                self.known.len()
            );
        }
    }
}

fn tables() -> impl Strategy<Value = Vec<(&'static str, u32)>> {
    prop_oneof![
        Just(vec![("ternary", 32)]),
        Just(vec![("range", 16)]),
        Just(vec![("range", 48), ("range", 16)]),
        Just(vec![("optional", 16), ("ternary", 100)]),
        Just(vec![("exact", 8), ("ternary", 16), ("range", 12)]),
        Just(vec![("lpm", 32), ("ternary", 8)]),
        Just(vec![("exact", 9), ("optional", 24)]),
        Just(vec![("lpm", 32)]),
        Just(vec![("exact", 8), ("lpm", 64)]),
        Just(vec![("exact", 4), ("lpm", 128)]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn large_tables_agree_with_a_linear_search(keys in tables(), seed in 1u64..) {
        let mut numbers = Numbers(seed);
        let mut table = Table::new(&keys);
        for step in 0..1200 {
            table.insert(&mut numbers);
            if step % 4 == 0 {
                table.change(&mut numbers);
            }
            if step % 150 == 0 {
                table.fail(&mut numbers);
                table.check(&mut numbers);
            }
        }
        table.check(&mut numbers);
        while !table.known.is_empty() {
            table.change(&mut numbers);
            if table.known.len() % 100 == 3 {
                table.check(&mut numbers);
            }
        }
        table.check(&mut numbers);
    }
}
