//! The tables of a chip whatever its program: ports, replication, mirrors, the packet generator.
//!
//! Names, ids and fields are those of Tofino 1's drivers, so that clients find them. What has no
//! meaning without the chip is left out: serdes, buffers, schedulers.

use super::fields::{field, key, list};
use super::{tables, ActionSpec, Data, Field, FieldType, KeyField, Kind, Schema, Scope, Table};

const U8: FieldType = FieldType::uint(8);
const U16: FieldType = FieldType::uint(16);
const U32: FieldType = FieldType::uint(32);
const U64: FieldType = FieldType::uint(64);
const BOOL: FieldType = FieldType::Bool { default: None };

pub const PORT: u32 = 0xff00_0001;

/// Whether a table is the chip's, not a program's.
pub fn is_fixed(id: u32) -> bool {
    id >> 24 == 0xff
}

/// Ids of fixed tables begin with 0xff; the next byte is their sort.
mod id {
    pub use super::PORT;
    pub const PRE: u32 = 0xff01_0001;
    pub const PKTGEN: u32 = 0xff02_0001;
    pub const MIRROR: u32 = 0xff03_0001;
    pub const DEVICE: u32 = 0xff05_0001;
}

impl Schema {
    /// The tables that every Tofino 1 has.
    pub fn fixed() -> Schema {
        let groups = [ports(), replication(), mirrors(), generator(), device()];
        Schema {
            tables: groups.concat(),
            learn_filters: Vec::new(),
        }
    }
}

fn fixed(id: u32, name: &str, kind: Kind, size: i64, keys: &[(&str, FieldType)]) -> Table {
    let keys = (1..).zip(keys).map(|(id, (name, kind))| KeyField {
        field_type: kind.clone(),
        ..key(id, name, 0)
    });
    Table {
        annotations: None,
        key: keys.collect(),
        ..tables::table(name.to_string(), id, kind, size)
    }
}

/// Fields that entries may go without, with ids from `first`.
fn data(first: u32, fields: &[(&str, FieldType)]) -> Vec<Data> {
    rows(first, fields, false)
}

/// The same, for clients to read only.
fn shown(first: u32, fields: &[(&str, FieldType)]) -> Vec<Data> {
    rows(first, fields, true)
}

fn rows(first: u32, fields: &[(&str, FieldType)], read_only: bool) -> Vec<Data> {
    let fields = (first..).zip(fields);
    fields
        .map(|(id, (name, kind))| one(field(id, name, kind.clone()), false, read_only))
        .collect()
}

fn one(field: Field, mandatory: bool, read_only: bool) -> Data {
    Data {
        mandatory,
        read_only,
        one_of: vec![field],
    }
}

/// Several values that an entry may go without.
fn many(id: u32, name: &str, kind: FieldType) -> Data {
    one(list(id, name, kind), false, false)
}

fn must(mut data: Data) -> Data {
    data.mandatory = true;
    data
}

fn text(choices: &'static [&'static str]) -> FieldType {
    FieldType::Text {
        choices,
        default: None,
    }
}

fn number(bits: u32, default: u64) -> FieldType {
    FieldType::Uint {
        bits,
        default: Some(default),
    }
}

fn off() -> FieldType {
    FieldType::Bool {
        default: Some(false),
    }
}

fn ports() -> Vec<Table> {
    let dev_port = [("$DEV_PORT", U32)];
    let shown_port = || shown(1, &dev_port);
    let info = |at: u32, name: &str, kind: Kind, keys: &[(&str, FieldType)]| Table {
        data: shown_port(),
        ..fixed(id::PORT + at, name, kind, 256, keys)
    };
    let statistics = super::port_stats::NAMES.map(|name| (name, number(64, 0)));
    vec![
        Table {
            data: port_settings(),
            attributes: vec!["port_status_notif_cb"],
            ..fixed(id::PORT, "$PORT", Kind::PortConfigure, 256, &dev_port)
        },
        Table {
            data: data(1, &statistics),
            attributes: vec!["poll_intvl_ms"],
            ..fixed(id::PORT + 1, "$PORT_STAT", Kind::PortStat, 256, &dev_port)
        },
        info(
            2,
            "$PORT_HDL_INFO",
            Kind::PortHdlInfo,
            &[("$CONN_ID", number(32, 0)), ("$CHNL_ID", number(32, 0))],
        ),
        info(
            3,
            "$PORT_FP_IDX_INFO",
            Kind::PortFpIdxInfo,
            &[("$FP_IDX", number(32, 0))],
        ),
        info(
            4,
            "$PORT_STR_INFO",
            Kind::PortStrInfo,
            &[("$PORT_NAME", text(&[]))],
        ),
    ]
}

fn port_settings() -> Vec<Data> {
    const SPEEDS: &[&str] = &[
        "BF_SPEED_NONE",
        "BF_SPEED_1G",
        "BF_SPEED_10G",
        "BF_SPEED_25G",
        "BF_SPEED_40G",
        "BF_SPEED_40G_NB",
        "BF_SPEED_40G_NON_BREAKABLE",
        "BF_SPEED_50G",
        "BF_SPEED_100G",
        "BF_SPEED_200G",
        "BF_SPEED_400G",
    ];
    const CORRECTIONS: &[&str] = &[
        "BF_FEC_TYP_NONE",
        "BF_FEC_TYP_FIRECODE",
        "BF_FEC_TYP_REED_SOLOMON",
        "BF_FEC_TYP_FC",
        "BF_FEC_TYP_RS",
    ];
    const LOOPS: &[&str] = &[
        "BF_LPBK_NONE",
        "BF_LPBK_MAC_NEAR",
        "BF_LPBK_MAC_FAR",
        "BF_LPBK_PCS_NEAR",
        "BF_LPBK_SERDES_NEAR",
        "BF_LPBK_SERDES_FAR",
    ];
    const NEGOTIATION: &[&str] = &["PM_AN_DEFAULT", "PM_AN_FORCE_ENABLE", "PM_AN_FORCE_DISABLE"];
    const DIRECTIONS: &[&str] = &[
        "PM_PORT_DIR_DEFAULT",
        "PM_PORT_DIR_TX_ONLY",
        "PM_PORT_DIR_RX_ONLY",
    ];
    const MEDIA: &[&str] = &[
        "BF_MEDIA_TYPE_COPPER",
        "BF_MEDIA_TYPE_OPTICAL",
        "BF_MEDIA_TYPE_UNKNOWN",
    ];
    [
        data(
            1,
            &[
                ("$SPEED", text(SPEEDS)),
                ("$FEC", text(CORRECTIONS)),
                ("$N_LANES", number(32, 1)),
                ("$PORT_ENABLE", off()),
                ("$AUTO_NEGOTIATION", text(NEGOTIATION)),
                ("$LOOPBACK_MODE", text(LOOPS)),
                ("$TX_MTU", number(32, 10240)),
                ("$RX_MTU", number(32, 10240)),
                ("$TX_PFC_EN_MAP", number(32, 0)),
                ("$RX_PFC_EN_MAP", number(32, 0)),
                ("$TX_PAUSE_FRAME_EN", off()),
                ("$RX_PAUSE_FRAME_EN", off()),
                ("$CUT_THROUGH_EN", off()),
                ("$PORT_DIR", text(DIRECTIONS)),
            ],
        ),
        shown(15, &[("$MEDIA_TYPE", text(MEDIA))]),
        shown(
            21,
            &[
                ("$IS_VALID", BOOL),
                ("$IS_INTERNAL", BOOL),
                ("$CONN_ID", U32),
                ("$CHNL_ID", U32),
                ("$PORT_UP", BOOL),
                ("$PORT_NAME", text(&[])),
            ],
        ),
    ]
    .concat()
}

fn replication() -> Vec<Table> {
    vec![
        Table {
            data: vec![
                many(1, "$MULTICAST_NODE_ID", U32),
                many(2, "$MULTICAST_NODE_L1_XID_VALID", BOOL),
                many(3, "$MULTICAST_NODE_L1_XID", U16),
                many(4, "$MULTICAST_ECMP_ID", U32),
                many(5, "$MULTICAST_ECMP_L1_XID_VALID", BOOL),
                many(6, "$MULTICAST_ECMP_L1_XID", U16),
            ],
            attributes: vec!["pre_device_config"],
            ..fixed(
                id::PRE,
                "$pre.mgid",
                Kind::PreMgid,
                65536,
                &[("$MGID", U16)],
            )
        },
        Table {
            data: vec![
                must(one(field(1, "$MULTICAST_RID", U16), true, false)),
                must(many(2, "$MULTICAST_LAG_ID", U8)),
                must(many(3, "$DEV_PORT", U32)),
            ],
            ..fixed(
                id::PRE + 1,
                "$pre.node",
                Kind::PreNode,
                1 << 24,
                &[("$MULTICAST_NODE_ID", U32)],
            )
        },
        Table {
            data: vec![must(many(1, "$MULTICAST_NODE_ID", U32))],
            ..fixed(
                id::PRE + 2,
                "$pre.ecmp",
                Kind::PreEcmp,
                1 << 24,
                &[("$MULTICAST_ECMP_ID", U32)],
            )
        },
        Table {
            data: [
                vec![many(1, "$DEV_PORT", U32)],
                data(
                    2,
                    &[
                        ("$MULTICAST_LAG_REMOTE_MSB_COUNT", number(32, 0)),
                        ("$MULTICAST_LAG_REMOTE_LSB_COUNT", number(32, 0)),
                    ],
                ),
            ]
            .concat(),
            ..fixed(
                id::PRE + 3,
                "$pre.lag",
                Kind::PreLag,
                255,
                &[("$MULTICAST_LAG_ID", U8)],
            )
        },
        Table {
            data: vec![must(many(1, "$DEV_PORT", U32))],
            ..fixed(
                id::PRE + 4,
                "$pre.prune",
                Kind::PrePrune,
                288,
                &[("$MULTICAST_L2_XID", U16)],
            )
        },
        Table {
            data: data(
                1,
                &[
                    ("$MULTICAST_BACKUP_PORT", U32),
                    ("$MULTICAST_FORWARD_STATE", BOOL),
                    ("$MULTICAST_CLEAR_FAST_FAILOVER", BOOL),
                    ("$COPY_TO_CPU_PORT_ENABLE", BOOL),
                ],
            ),
            ..fixed(
                id::PRE + 5,
                "$pre.port",
                Kind::PrePort,
                288,
                &[("$DEV_PORT", U32)],
            )
        },
    ]
}

fn action(id: u32, name: &str, data: Vec<Field>) -> ActionSpec {
    ActionSpec {
        id,
        name: name.to_string(),
        scope: Scope::TableAndDefault,
        annotations: Vec::new(),
        data,
    }
}

fn mirrors() -> Vec<Table> {
    const DIRECTIONS: &[&str] = &["INGRESS", "EGRESS", "BOTH"];
    const COLORS: &[&str] = &["GREEN", "YELLOW", "RED"];
    let coalescing = vec![
        field(1, "$internal_header", FieldType::bytes(128)),
        field(2, "$internal_header_length", U32),
        field(3, "$timeout_usec", U32),
        field(4, "$extract_len", U32),
    ];
    vec![Table {
        actions: Some(vec![
            action(1, "$coalescing", coalescing),
            action(2, "$normal", Vec::new()),
        ]),
        data: data(
            5,
            &[
                ("$session_enable", BOOL),
                ("$direction", text(DIRECTIONS)),
                ("$ucast_egress_port", U32),
                ("$ucast_egress_port_valid", BOOL),
                ("$egress_port_queue", U32),
                ("$ingress_cos", U32),
                ("$packet_color", text(COLORS)),
                ("$level1_mcast_hash", U32),
                ("$level2_mcast_hash", U32),
                ("$mcast_grp_a", U16),
                ("$mcast_grp_a_valid", BOOL),
                ("$mcast_grp_b", U16),
                ("$mcast_grp_b_valid", BOOL),
                ("$mcast_l1_xid", U16),
                ("$mcast_l2_xid", U16),
                ("$mcast_rid", U16),
                ("$icos_for_copy_to_cpu", U32),
                ("$copy_to_cpu", BOOL),
                ("$max_pkt_len", U16),
            ],
        ),
        ..fixed(
            id::MIRROR,
            "$mirror.cfg",
            Kind::MirrorCfg,
            1024,
            &[("$sid", U16)],
        )
    }]
}

fn generator() -> Vec<Table> {
    let timer = || vec![field(1, "timer_nanosec", U32)];
    let pattern = vec![
        field(4, "pattern_value", U32),
        field(5, "pattern_mask", U32),
    ];
    vec![
        Table {
            data: data(
                1,
                &[
                    ("recirculation_enable", BOOL),
                    ("pktgen_enable", BOOL),
                    ("pattern_matching_enable", BOOL),
                    ("clear_port_down_enable", BOOL),
                ],
            ),
            ..fixed(
                id::PKTGEN,
                "tf1.pktgen.port_cfg",
                Kind::PktgenPortCfg,
                256,
                &[("dev_port", U32)],
            )
        },
        Table {
            actions: Some(vec![
                action(1, "trigger_timer_one_shot", timer()),
                action(2, "trigger_timer_periodic", timer()),
                action(3, "trigger_port_down", Vec::new()),
                action(4, "trigger_recirc_pattern", pattern),
            ]),
            data: data(
                12,
                &[
                    ("app_enable", BOOL),
                    ("pkt_len", U16),
                    ("pkt_buffer_offset", U16),
                    ("pipe_local_source_port", U32),
                    ("increment_source_port", BOOL),
                    ("batch_count_cfg", U16),
                    ("packets_per_batch_cfg", U16),
                    ("ibg", U32),
                    ("ibg_jitter", U32),
                    ("ipg", U32),
                    ("ipg_jitter", U32),
                    ("batch_counter", U64),
                    ("pkt_counter", U64),
                    ("trigger_counter", U64),
                ],
            ),
            ..fixed(
                id::PKTGEN + 1,
                "tf1.pktgen.app_cfg",
                Kind::PktgenAppCfg,
                8,
                &[("app_id", U32)],
            )
        },
        Table {
            data: vec![many(1, "buffer", FieldType::bytes(8))],
            ..fixed(
                id::PKTGEN + 2,
                "tf1.pktgen.pkt_buffer",
                Kind::PktgenPktBuffer,
                1024,
                &[("pkt_buffer_offset", U32), ("pkt_buffer_size", U32)],
            )
        },
    ]
}

fn device() -> Vec<Table> {
    const CHIPS: &[&str] = &["UNKNOWN", "BFN-T10-064Q", "BFN-T10-032Q", "BFN-T10-032D"];
    let list = |id, name| one(list(id, name, U32), false, true);
    vec![Table {
        data: [
            shown(
                1,
                &[
                    ("sku", text(CHIPS)),
                    ("num_pipes", U32),
                    ("num_stages", U32),
                    ("num_max_ports", U32),
                    ("num_front_ports", U32),
                    ("pcie_cpu_port", U32),
                ],
            ),
            vec![
                list(7, "eth_cpu_port_list"),
                list(8, "internal_port_list"),
                list(9, "external_port_list"),
                list(10, "recirc_port_list"),
            ],
            shown(11, &[("intr_based_link_monitoring", BOOL)]),
            data(
                12,
                &[
                    ("flow_learn_intr_mode", off()),
                    ("lrt_dr_timeout_usec", number(32, 0)),
                    ("flow_learn_timeout_usec", number(32, 500)),
                    ("inactive_node_delete", off()),
                    ("selector_member_order", off()),
                ],
            ),
        ]
        .concat(),
        ..fixed(
            id::DEVICE,
            "tf1.dev.device_configuration",
            Kind::DevConfigure,
            1,
            &[],
        )
    }]
}
