//! What blocks ask for; it is met between blocks.

/// Something that the program has asked for; of one kind only the last request counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    /// The session of a clone, the call of a digest; its data are kept apart
    pub word: u64,
    /// The fields to be kept
    pub list: Option<u32>,
}

/// Kinds of requests at most
const KINDS: usize = 4;

/// What has been asked for since the last [`Glue::Take`](p4_ir::glue::Glue).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Requests {
    /// A bit for each kind that was asked for; kinds have the architecture's numbers.
    made: u8,
    kinds: [Asked; KINDS],
    /// Bytes that `truncate` leaves: the smallest of all calls
    pub truncate: Option<u32>,
}

impl Requests {
    #[inline]
    pub fn of(&self, kind: u8) -> Option<Asked> {
        match self.made >> kind & 1 {
            0 => None,
            _ => self.kinds.get(usize::from(kind)).copied(),
        }
    }

    /// A bit for each kind that was asked for
    #[inline]
    pub fn made(&self) -> u8 {
        self.made
    }

    pub fn ask(&mut self, kind: u8, word: u64, list: Option<u64>) {
        let list = list.map(|list| list as u32);
        self.made |= 1 << kind;
        self.kinds[usize::from(kind)] = Asked { word, list };
    }

    #[inline]
    pub fn clear(&mut self) {
        (self.made, self.truncate) = (0, None);
    }

    /// Takes over what `others` ask for, which ask for nothing then.
    #[inline]
    pub fn take(&mut self, others: &mut Requests) {
        match others.made {
            0 => (self.made, self.truncate) = (0, others.truncate),
            _ => *self = *others,
        }
        others.clear();
    }
}
