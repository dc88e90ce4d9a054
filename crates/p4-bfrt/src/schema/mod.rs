//! The tables of a program, as `bf-rt.json` lists them.

mod build;
pub(crate) mod fields;
mod fixed;
mod hash;
pub(crate) mod hashes;
mod json;
pub(crate) mod port_stats;
mod tables;

pub(crate) use fixed::is_fixed;

/// The table of the chip's ports
pub(crate) const PORT: u32 = fixed::PORT;
/// The one of what they count
pub(crate) const PORT_STAT: u32 = fixed::PORT + 1;

/// What a program shows to its clients.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    pub tables: Vec<Table>,
    pub learn_filters: Vec<LearnFilter>,
}

/// What a table is of; the names are those of `table_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    MatchActionDirect,
    MatchActionIndirect,
    MatchActionIndirectSelector,
    Action,
    Selector,
    SelectorGetMember,
    DynHashAlgorithm,
    DynHashConfigure,
    DynHashCompute,
    Counter,
    Meter,
    Register,
    RegisterParam,
    Lpf,
    Wred,
    ParserValueSet,
    PortMetadata,
    TblDbgCnt,
    PortConfigure,
    PortStat,
    PortHdlInfo,
    PortFpIdxInfo,
    PortStrInfo,
    PreMgid,
    PreNode,
    PreEcmp,
    PreLag,
    PrePrune,
    PrePort,
    MirrorCfg,
    PktgenPortCfg,
    PktgenAppCfg,
    PktgenPktBuffer,
    DevConfigure,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// With the pipeline in front: `pipe.Ingress.forward`
    pub name: String,
    pub id: u32,
    pub kind: Kind,
    /// Entries that it has room for
    pub size: i64,
    /// As written: `@mode("fair")`. `None`: the list is left out, as bf-p4c does for some kinds.
    pub annotations: Option<Vec<String>>,
    /// Ids of tables that must have what this one names
    pub depends_on: Vec<u32>,
    /// Whether the program forbids another default action; `None` where there is none
    pub const_default: Option<bool>,
    pub key: Vec<KeyField>,
    pub actions: Option<Vec<ActionSpec>>,
    pub data: Vec<Data>,
    pub operations: Vec<&'static str>,
    pub attributes: Vec<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
    /// The number of a partition of an algorithmic TCAM
    Atcam,
}

#[derive(Clone, Debug, PartialEq)]
pub struct KeyField {
    pub id: u32,
    pub name: String,
    /// What the program calls it: `hdr.vlan[1].vid` for `hdr.vlan$1.vid`
    pub source: String,
    pub annotations: Vec<Annotation>,
    pub mandatory: bool,
    pub match_type: Match,
    pub field_type: FieldType,
}

/// A name, for some with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    pub name: String,
    pub value: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    TableAndDefault,
    TableOnly,
    DefaultOnly,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ActionSpec {
    pub id: u32,
    /// Without the pipeline
    pub name: String,
    pub scope: Scope,
    pub annotations: Vec<String>,
    /// Its parameters, all of which must be given
    pub data: Vec<Field>,
}

/// One field of an entry, or several of which an entry has one.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    pub mandatory: bool,
    pub read_only: bool,
    pub one_of: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub id: u32,
    pub name: String,
    pub repeated: bool,
    pub annotations: Vec<Annotation>,
    pub field_type: FieldType,
}

/// What a field holds, and what it is where nobody says.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldType {
    /// Bits
    Bytes {
        width: i32,
        default: Option<i64>,
    },
    Uint {
        bits: u32,
        default: Option<u64>,
    },
    Bool {
        default: Option<bool>,
    },
    Float,
    /// One of these; any text if there are none
    Text {
        choices: &'static [&'static str],
        default: Option<&'static str>,
    },
    /// Several fields
    Container(Vec<Data>),
}

/// A digest.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnFilter {
    pub name: String,
    pub id: u32,
    pub annotations: Vec<String>,
    pub fields: Vec<Field>,
}

impl Table {
    /// The name without the pipeline, as the program has it.
    pub fn source(&self) -> &str {
        self.name
            .split_once('.')
            .map_or(&*self.name, |(_, own)| own)
    }

    fn has(&self, id: u32) -> bool {
        let mut fields = self.data.iter().flat_map(|data| &data.one_of);
        fields.any(|field| field.id == id)
    }

    /// Whether its entries count packets or bytes.
    pub fn counts(&self) -> bool {
        self.has(fields::COUNTER_BYTES) || self.has(fields::COUNTER_PACKETS)
    }

    /// Whether its entries go idle.
    pub fn ages(&self) -> bool {
        self.has(fields::ENTRY_TTL)
    }

    /// Whether packets look for its entries.
    pub fn is_matched(&self) -> bool {
        matches!(
            self.kind,
            Kind::MatchActionDirect | Kind::MatchActionIndirect | Kind::MatchActionIndirectSelector
        )
    }

    /// The field of an entry with this id: a parameter of its action, or of any entry.
    pub fn field(&self, action: u32, id: u32) -> Option<&Field> {
        let actions = self.actions.iter().flatten();
        let params = actions.filter(|own| own.id == action);
        let params = params.flat_map(|own| &own.data);
        let own = self.data.iter().flat_map(|data| &data.one_of);
        params.chain(own).find(|field| field.id == id)
    }

    pub fn action(&self, id: u32) -> Option<&ActionSpec> {
        self.actions.iter().flatten().find(|own| own.id == id)
    }

    pub fn action_named(&self, name: &str) -> Option<&ActionSpec> {
        self.actions.iter().flatten().find(|own| own.name == name)
    }

    /// The action that the switch calls so: with the pipeline where there are several.
    pub fn action_called(&self, name: &str) -> Option<&ActionSpec> {
        let pipeline = self.name.split('.').next().unwrap_or_default();
        let plain = name.strip_prefix(pipeline);
        let plain = plain.and_then(|rest| rest.strip_prefix('.'));
        let found = self.action_named(name);
        found.or_else(|| self.action_named(plain?))
    }

    /// Whether the switch calls the table so: with the pipeline where there are several.
    pub fn is_called(&self, name: &str) -> bool {
        [self.source(), &*self.name].contains(&name)
    }
}

impl Field {
    /// Whether it is what a register holds.
    pub fn is_register(&self) -> bool {
        let mut notes = self.annotations.iter();
        notes.any(|own| own.name == "$bfrt_field_class")
    }
}

impl LearnFilter {
    /// Whether the switch calls the digest so: with the pipeline where there are several.
    pub fn is_called(&self, name: &str) -> bool {
        [self.source(), &*self.name].contains(&name)
    }

    /// The name without the pipeline, as the program has it.
    pub fn source(&self) -> &str {
        self.name
            .split_once('.')
            .map_or(&*self.name, |(_, own)| own)
    }
}

impl Schema {
    pub fn table(&self, id: u32) -> Option<&Table> {
        self.tables.iter().find(|table| table.id == id)
    }

    pub fn table_named(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }
}

impl FieldType {
    /// Bits of a number
    pub fn width(&self) -> u64 {
        match self {
            FieldType::Bytes { width, .. } => u64::try_from(*width).unwrap_or(0),
            FieldType::Uint { bits, .. } => u64::from(*bits),
            FieldType::Bool { .. } => 1,
            FieldType::Float | FieldType::Text { .. } | FieldType::Container(_) => 0,
        }
    }

    pub(crate) const fn bytes(width: i32) -> FieldType {
        FieldType::Bytes {
            width,
            default: None,
        }
    }

    pub(crate) const fn uint(bits: u32) -> FieldType {
        FieldType::Uint {
            bits,
            default: None,
        }
    }
}
