//! Positions in source text. Every file a program is read from gets its own range of one global
//! position space, so a [`Span`] is eight bytes and needs no file id.

/// A half-open byte range `lo..hi` in the global position space of a `SourceMap`.
/// `0..0` ([`Span::NONE`]) marks things the compiler made up itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    pub lo: u32,
    pub hi: u32,
}

impl Span {
    pub const NONE: Span = Span { lo: 0, hi: 0 };

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        if self == Span::NONE {
            return other;
        }
        if other == Span::NONE {
            return self;
        }
        Span {
            lo: self.lo.min(other.lo),
            hi: self.hi.max(other.hi),
        }
    }
}
