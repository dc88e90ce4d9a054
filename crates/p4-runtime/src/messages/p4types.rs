//! The types that P4Info mentions.

use std::collections::BTreeMap;

#[derive(Clone, PartialEq, prost::Message)]
pub struct TypeInfo {
    #[prost(btree_map = "string, message", tag = "1")]
    pub structs: BTreeMap<String, StructSpec>,
    #[prost(btree_map = "string, message", tag = "2")]
    pub headers: BTreeMap<String, HeaderSpec>,
    #[prost(btree_map = "string, message", tag = "3")]
    pub header_unions: BTreeMap<String, HeaderUnionSpec>,
    #[prost(btree_map = "string, message", tag = "4")]
    pub enums: BTreeMap<String, EnumSpec>,
    #[prost(message, optional, tag = "5")]
    pub error: Option<ErrorSpec>,
    #[prost(btree_map = "string, message", tag = "6")]
    pub serializable_enums: BTreeMap<String, SerializableEnumSpec>,
    #[prost(btree_map = "string, message", tag = "7")]
    pub new_types: BTreeMap<String, NewTypeSpec>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct NamedType {
    #[prost(string, tag = "1")]
    pub name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct DataTypeSpec {
    #[prost(oneof = "DataType", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12")]
    pub type_spec: Option<DataType>,
}

impl From<DataType> for DataTypeSpec {
    fn from(data_type: DataType) -> DataTypeSpec {
        DataTypeSpec {
            type_spec: Some(data_type),
        }
    }
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum DataType {
    #[prost(message, tag = "1")]
    Bitstring(BitstringSpec),
    #[prost(message, tag = "2")]
    Bool(Empty),
    #[prost(message, tag = "3")]
    Tuple(TupleSpec),
    #[prost(message, tag = "4")]
    Struct(NamedType),
    #[prost(message, tag = "5")]
    Header(NamedType),
    #[prost(message, tag = "6")]
    HeaderUnion(NamedType),
    #[prost(message, tag = "7")]
    HeaderStack(StackSpec),
    #[prost(message, tag = "8")]
    HeaderUnionStack(StackSpec),
    #[prost(message, tag = "9")]
    Enum(NamedType),
    #[prost(message, tag = "10")]
    Error(Empty),
    #[prost(message, tag = "11")]
    SerializableEnum(NamedType),
    #[prost(message, tag = "12")]
    NewType(NamedType),
}

/// Types that need no more words (`P4BoolType`, `P4ErrorType`, `SdnString`).
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Empty {}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct BitstringSpec {
    #[prost(oneof = "Bitstring", tags = "1, 2, 3")]
    pub type_spec: Option<Bitstring>,
}

#[derive(Clone, Copy, PartialEq, prost::Oneof)]
pub enum Bitstring {
    #[prost(message, tag = "1")]
    Bit(Width),
    #[prost(message, tag = "2")]
    Int(Width),
    /// The greatest width
    #[prost(message, tag = "3")]
    Varbit(Width),
}

/// Width in bits (`P4BitTypeSpec` and its like).
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Width {
    #[prost(int32, tag = "1")]
    pub bitwidth: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct TupleSpec {
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<DataTypeSpec>,
}

/// `name` is that of the header or header union.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StackSpec {
    #[prost(message, optional, tag = "1")]
    pub element: Option<NamedType>,
    #[prost(int32, tag = "2")]
    pub size: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct StructSpec {
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<StructMember>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct StructMember {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub type_spec: Option<DataTypeSpec>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct HeaderSpec {
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<HeaderMember>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct HeaderMember {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub type_spec: Option<BitstringSpec>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct HeaderUnionSpec {
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<HeaderUnionMember>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct HeaderUnionMember {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub header: Option<NamedType>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct EnumSpec {
    /// A member without annotations is its name.
    #[prost(message, repeated, tag = "1")]
    pub members: Vec<NamedType>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ErrorSpec {
    #[prost(string, repeated, tag = "1")]
    pub members: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct SerializableEnumSpec {
    #[prost(message, optional, tag = "1")]
    pub underlying_type: Option<Width>,
    #[prost(message, repeated, tag = "2")]
    pub members: Vec<SerializableEnumMember>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct SerializableEnumMember {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct NewTypeSpec {
    #[prost(string, repeated, tag = "3")]
    pub annotations: Vec<String>,
    #[prost(message, repeated, tag = "4")]
    pub structured_annotations: Vec<StructuredAnnotation>,
    #[prost(oneof = "Representation", tags = "1, 2")]
    pub representation: Option<Representation>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Representation {
    #[prost(message, tag = "1")]
    Original(DataTypeSpec),
    #[prost(message, tag = "2")]
    Translated(Translation),
}

/// What the controller sees instead of the data plane's values.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Translation {
    #[prost(string, tag = "1")]
    pub uri: String,
    #[prost(oneof = "SdnType", tags = "2, 3")]
    pub sdn_type: Option<SdnType>,
}

#[derive(Clone, Copy, PartialEq, prost::Oneof)]
pub enum SdnType {
    #[prost(int32, tag = "2")]
    Bitwidth(i32),
    #[prost(message, tag = "3")]
    Text(Empty),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct StructuredAnnotation {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(oneof = "AnnotationBody", tags = "2, 3")]
    pub body: Option<AnnotationBody>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum AnnotationBody {
    #[prost(message, tag = "2")]
    List(ExpressionList),
    #[prost(message, tag = "3")]
    Pairs(KeyValuePairs),
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ExpressionList {
    #[prost(message, repeated, tag = "1")]
    pub expressions: Vec<Expression>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct KeyValuePairs {
    #[prost(message, repeated, tag = "1")]
    pub kv_pairs: Vec<KeyValuePair>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct KeyValuePair {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(message, optional, tag = "2")]
    pub value: Option<Expression>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Expression {
    #[prost(oneof = "Literal", tags = "1, 2, 3")]
    pub value: Option<Literal>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Literal {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(int64, tag = "2")]
    Int(i64),
    #[prost(bool, tag = "3")]
    Bool(bool),
}
