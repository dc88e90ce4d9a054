//! v1model: the pipeline of bmv2's simple_switch.
//!
//! Where simple_switch differs from what v1model.p4 says, the text wins unless
//! [`Config::bmv2_compat`] asks for simple_switch's way; each such place names it.

mod calls;
mod egress_queues;
mod events;
mod externs;
mod fast;
mod fields;
mod image;
mod leaving;
mod placement;
mod queue;
mod recording;
mod stages;
mod switch;
mod undo;
mod walk;

pub use crate::frame::{Field, Region};
pub use crate::hash::{Algorithm, CrcParameters};
pub use crate::stats::{Drop, Stats, Stop};
pub use crate::tree::{Fate, Kind, PacketTrace, Trace};
pub use crate::Digest;
pub use calls::{Call, Checksum};
pub use fast::Workspace;
pub use fields::Standard;
pub use image::{AsBmv2, Image, V1Model};
pub use switch::{Assertions, Config, Switch};
