//! Which parameters of TNA's blocks share storage.

use p4_ir::lower::Binding;

/// TNA's say in lowering: headers and metadata are shared within ingress and within egress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tna;

pub(crate) const INGRESS: &str = "ig_intr_md";
pub(crate) const FOR_TM: &str = "ig_intr_md_for_tm";
pub(crate) const INGRESS_FROM_PARSER: &str = "ig_intr_md_from_prsr";
pub(crate) const INGRESS_FOR_DEPARSER: &str = "ig_intr_md_for_dprsr";
pub(crate) const EGRESS: &str = "eg_intr_md";
pub(crate) const EGRESS_FROM_PARSER: &str = "eg_intr_md_from_prsr";
pub(crate) const EGRESS_FOR_DEPARSER: &str = "eg_intr_md_for_dprsr";
const FOR_PORT: &str = "eg_intr_md_for_oport";

/// The fields that ask for nothing until somebody writes them. The words that say so are in this
/// order.
pub(crate) const NOTED: &[(&str, &str)] = &[
    (FOR_TM, "ucast_egress_port"),
    (FOR_TM, "mcast_grp_a"),
    (FOR_TM, "mcast_grp_b"),
    (INGRESS_FOR_DEPARSER, "digest_type"),
    (INGRESS_FOR_DEPARSER, "resubmit_type"),
    (INGRESS_FOR_DEPARSER, "mirror_type"),
    (EGRESS_FOR_DEPARSER, "mirror_type"),
];

/// What the stateful ALU runs.
const STATEFUL: &[&str] = &["RegisterAction", "DirectRegisterAction", "SelectorAction"];

impl Binding for Tna {
    fn storage(&self, package: &str, block: &str, param: usize) -> Option<&'static str> {
        let block = match package {
            "Pipeline" | "MultiParserPipeline" => block,
            "IngressParsers" => "ingress_parser",
            "EgressParsers" => "egress_parser",
            _ => return None,
        };
        let names: &[&'static str] = match block {
            "ingress_parser" => &["", "ig_hdr", "ig_md", INGRESS, FOR_TM, INGRESS_FROM_PARSER],
            "ingress" => &[
                "ig_hdr",
                "ig_md",
                INGRESS,
                INGRESS_FROM_PARSER,
                INGRESS_FOR_DEPARSER,
                FOR_TM,
            ],
            "ingress_deparser" => &["", "ig_hdr", "ig_md", INGRESS_FOR_DEPARSER, INGRESS],
            "egress_parser" => &[
                "",
                "eg_hdr",
                "eg_md",
                EGRESS,
                EGRESS_FROM_PARSER,
                EGRESS_FOR_DEPARSER,
            ],
            "egress" => &[
                "eg_hdr",
                "eg_md",
                EGRESS,
                EGRESS_FROM_PARSER,
                EGRESS_FOR_DEPARSER,
                FOR_PORT,
            ],
            "egress_deparser" => &[
                "",
                "eg_hdr",
                "eg_md",
                EGRESS_FOR_DEPARSER,
                EGRESS,
                EGRESS_FROM_PARSER,
            ],
            _ => return None,
        };
        names.get(param).copied().filter(|name| !name.is_empty())
    }

    fn compares_exactly(&self) -> &'static [&'static str] {
        STATEFUL
    }

    /// The compiler takes only headers of whole bytes, unless `@flexible` lets it place their fields.
    fn fills_headers(&self, package: &str) -> bool {
        matches!(package, "Switch" | "MultiParserSwitch")
    }

    fn noted(&self) -> &'static [(&'static str, &'static str)] {
        NOTED
    }
}
