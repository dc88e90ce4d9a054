//! Action profiles and selectors.

use super::table::Action;

#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionProfileMember {
    #[prost(uint32, tag = "1")]
    pub action_profile_id: u32,
    #[prost(uint32, tag = "2")]
    pub member_id: u32,
    #[prost(message, optional, tag = "3")]
    pub action: Option<Action>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionProfileGroup {
    #[prost(uint32, tag = "1")]
    pub action_profile_id: u32,
    #[prost(uint32, tag = "2")]
    pub group_id: u32,
    #[prost(message, repeated, tag = "3")]
    pub members: Vec<GroupMember>,
    #[prost(int32, tag = "4")]
    pub max_size: i32,
}

/// A member of a group, chosen `weight` times as often as one of weight 1.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GroupMember {
    #[prost(uint32, tag = "1")]
    pub member_id: u32,
    #[prost(int32, tag = "2")]
    pub weight: i32,
    #[prost(oneof = "WatchKind", tags = "3, 4")]
    pub watch: Option<WatchKind>,
}

/// The port on which it depends whether a member is chosen. The number is a deprecated form.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum WatchKind {
    #[prost(int32, tag = "3")]
    Watch(i32),
    #[prost(bytes, tag = "4")]
    WatchPort(Vec<u8>),
}

/// A group and its members, in the entry that leads to it.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionProfileActionSet {
    #[prost(message, repeated, tag = "1")]
    pub actions: Vec<ActionProfileAction>,
    #[prost(int32, tag = "2")]
    pub action_selection_mode: i32,
    #[prost(int32, tag = "3")]
    pub size_semantics: i32,
    #[prost(message, optional, tag = "5")]
    pub group_action: Option<Action>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionProfileAction {
    #[prost(message, optional, tag = "1")]
    pub action: Option<Action>,
    #[prost(int32, tag = "2")]
    pub weight: i32,
    #[prost(oneof = "WatchKind", tags = "3, 4")]
    pub watch: Option<WatchKind>,
}
