//! The Simple Test Framework: its language and its runner.
//!
//! A script sends packets into a switch, fills tables, and says what must come out. [`parse`] turns
//! its text into data, [`run`] carries it out on anything that is a [`Target`] and gives a
//! [`Report`]. [`Mode::Lax`] judges as p4c's runner for bmv2 does: what comes behind the expected data
//! and on ports that the script does not name is not looked at, failing commands fail nothing, and
//! counters are not read. [`Mode::Strict`] looks at all of it: every packet on every port is accounted
//! for and compared whole, and every command must succeed. It leaves two liberties, and says in a
//! note where a script takes one:
//!
//! - Behind data without `$` may come the end of the packet that was sent, unchanged, as a switch
//!   passes on what its parser did not read. Any other byte is a difference.
//! - A script that expects no packet at all, but checks counters or registers, is about these alone.
//!
//! The language, one command a line, `#` starts a comment:
//!
//! ```text
//! packet PORT HEXBYTES
//! expect PORT [HEXBYTES] [$]      # * is any digit; $ says "and nothing behind it"
//! no_packet [PORT]                # the packet sent last comes out nowhere (or not there)
//! add TABLE [PRIORITY] KEY:VALUE... ACTION(ARG:VALUE, ...) [= LABEL]
//! setdefault TABLE ACTION(ARG:VALUE, ...)
//! remove all | remove LABEL
//! check_counter COUNTER(INDEX) [packets|bytes == NUMBER]
//! check_register REGISTER(INDEX) == NUMBER
//! wait
//! ```
//!
//! and lines of bmv2's command line: `mirroring_*`, `mc_*`, `register_*`, `counter_*`, `meter_*`,
//! `table_*`, `act_prof_*`, `pvs_*`, `set_crc16_parameters`, `set_crc32_parameters`,
//! `set_queue_depth`, `set_queue_rate`, and what only shows something. In strict mode one that
//! fails makes the script fail.
//!
//! A record of a session with a real switch is a script too:
//!
//! ```text
//! cli COMMAND                     # a line of the command line,
//!   | REPLY                       # and what it printed: it must fail here if it failed there
//! packet PORT HEXBYTES
//! out PORT [HEXBYTES]             # what came out, whole
//! switch died CODE                # the switch takes no more packets
//! ```
//!
//! And so is what the harness of the Tofino model takes: `load`, an address in place of a priority,
//! `ACTION(MEMBER ARG:VALUE)`, `selector`, `lo` and `hi` of a register, and addresses of entries in
//! place of labels.
//!
//! Values are decimal, `0x`, `0o` or `0b`; in the last three `*` is a digit that may be anything
//! (ternary and lpm keys). `VALUE/LENGTH`, `VALUE&&&MASK` and `LOW..HIGH` say it in full.
#![forbid(unsafe_code)]

mod cli;
mod cursor;
mod harness;
mod judge;
mod on_switch;
mod parse;
mod report;
mod resolve;
mod run;
mod script;
mod target;

pub use cli::{Cli, Line, Printed};
pub use judge::{judge, matches, Expected, Mode, Received, Verdict};
pub use on_switch::{OnSwitch, Traced};
pub use parse::parse;
pub use report::{Difference, Finding, Kind, Note, Report};
pub use run::run;
pub use script::*;
pub use target::*;
