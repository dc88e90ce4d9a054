//! Values of any P4 type.

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4Data {
    #[prost(oneof = "P4DataKind", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12")]
    pub data: Option<P4DataKind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum P4DataKind {
    #[prost(bytes, tag = "1")]
    Bitstring(Vec<u8>),
    #[prost(message, tag = "2")]
    Varbit(P4Varbit),
    #[prost(bool, tag = "3")]
    Bool(bool),
    #[prost(message, tag = "4")]
    Tuple(P4StructLike),
    #[prost(message, tag = "5")]
    Struct(P4StructLike),
    #[prost(message, tag = "6")]
    Header(P4Header),
    #[prost(message, tag = "7")]
    HeaderUnion(P4HeaderUnion),
    #[prost(message, tag = "8")]
    HeaderStack(P4HeaderStack),
    #[prost(message, tag = "9")]
    HeaderUnionStack(P4HeaderUnionStack),
    #[prost(string, tag = "10")]
    Enum(String),
    #[prost(string, tag = "11")]
    Error(String),
    /// A serializable enum
    #[prost(bytes, tag = "12")]
    EnumValue(Vec<u8>),
}

impl From<P4DataKind> for P4Data {
    fn from(kind: P4DataKind) -> P4Data {
        P4Data { data: Some(kind) }
    }
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4Varbit {
    #[prost(bytes = "vec", tag = "1")]
    pub bitstring: Vec<u8>,
    /// Of this value
    #[prost(int32, tag = "2")]
    pub bitwidth: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4StructLike {
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<P4Data>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4Header {
    #[prost(bool, tag = "1")]
    pub is_valid: bool,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub bitstrings: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4HeaderUnion {
    #[prost(string, tag = "1")]
    pub valid_header_name: String,
    #[prost(message, optional, tag = "2")]
    pub valid_header: Option<P4Header>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4HeaderStack {
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<P4Header>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct P4HeaderUnionStack {
    #[prost(message, repeated, tag = "1")]
    pub entries: Vec<P4HeaderUnion>,
}
