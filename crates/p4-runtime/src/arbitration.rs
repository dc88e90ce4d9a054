//! Who is the primary of a role. Specification, 5.3 and 5.4.

use crate::messages::{ArbitrationUpdate, Role, RpcStatus, Uint128};
use crate::status::{Code, Refusal, Status};
use std::collections::BTreeMap;

/// Number of a stream, never used again.
pub type StreamId = u64;

/// Streams that one role of a device may have at a time.
const MAX_CLIENTS: usize = 64;
/// Roles that a device remembers; each keeps its highest election id for good.
const MAX_ROLES: usize = 256;

/// The roles of one device and their clients.
#[derive(Debug, Default)]
pub struct Arbitration {
    device: u64,
    roles: BTreeMap<String, RoleState>,
    clients: BTreeMap<StreamId, Client>,
}

#[derive(Debug, Default)]
struct RoleState {
    /// The highest election id ever seen of a primary
    highest: Option<Uint128>,
    primary: Option<StreamId>,
}

#[derive(Debug)]
struct Client {
    role: String,
    election_id: Option<Uint128>,
}

/// Whom to tell what.
pub type Notices = Vec<(StreamId, ArbitrationUpdate)>;

impl Arbitration {
    pub fn new(device: u64) -> Arbitration {
        let roles = [(String::new(), RoleState::default())].into();
        Arbitration {
            device,
            roles,
            clients: BTreeMap::new(),
        }
    }

    /// A client asks to be the primary of its role. An error ends its stream.
    pub fn update(
        &mut self,
        stream: StreamId,
        update: &ArbitrationUpdate,
    ) -> Result<Notices, Status> {
        let role = role_of(update)?;
        let election_id = update.election_id;
        self.check(stream, role, election_id)?;
        let state = self.roles.entry(role.to_string()).or_default();
        let was_primary = state.primary == Some(stream);
        self.clients.insert(
            stream,
            Client {
                role: role.to_string(),
                election_id,
            },
        );
        if election_id.is_some() && election_id >= state.highest {
            state.highest = election_id;
            state.primary = Some(stream);
            return Ok(self.notices(role));
        }
        if was_primary {
            state.primary = None;
            return Ok(self.notices(role));
        }
        Ok(vec![(stream, self.notice(role, stream))])
    }

    fn check(
        &self,
        stream: StreamId,
        role: &str,
        election_id: Option<Uint128>,
    ) -> Result<(), Status> {
        match self.clients.get(&stream) {
            Some(client) if client.role != role => {
                let message = "a stream keeps its role; open another one for another role";
                return Err(Status::new(Code::FailedPrecondition, message));
            }
            Some(_) => {}
            None if self.of_role(role).count() >= MAX_CLIENTS => {
                let message = format!("there are {MAX_CLIENTS} streams of this role already");
                return Err(Status::new(Code::ResourceExhausted, message));
            }
            None if self.roles.len() >= MAX_ROLES && !self.roles.contains_key(role) => {
                let message = format!("this device has {MAX_ROLES} roles already");
                return Err(Status::new(Code::ResourceExhausted, message));
            }
            None => {}
        }
        let mut others = self.of_role(role).filter(|(id, _)| **id != stream);
        if election_id.is_some() && others.any(|(_, client)| client.election_id == election_id) {
            let message = "another client of this role has this election id";
            return Err(Status::new(Code::InvalidArgument, message));
        }
        Ok(())
    }

    /// A stream has ended.
    pub fn leave(&mut self, stream: StreamId) -> Notices {
        let Some(client) = self.clients.remove(&stream) else {
            return Vec::new();
        };
        let Some(state) = self.roles.get_mut(&client.role) else {
            return Vec::new();
        };
        if state.primary != Some(stream) {
            return Vec::new();
        }
        state.primary = None;
        self.notices(&client.role)
    }

    fn of_role<'a>(&'a self, role: &'a str) -> impl Iterator<Item = (&'a StreamId, &'a Client)> {
        self.clients
            .iter()
            .filter(move |(_, client)| client.role == role)
    }

    /// What all clients of a role are told, the primary last.
    fn notices(&self, role: &str) -> Notices {
        let primary = self.roles.get(role).and_then(|state| state.primary);
        let mut streams: Vec<StreamId> = self.of_role(role).map(|(id, _)| *id).collect();
        streams.sort_by_key(|id| (Some(*id) == primary, *id));
        let notice = |id: StreamId| (id, self.notice(role, id));
        streams.into_iter().map(notice).collect()
    }

    fn notice(&self, role: &str, stream: StreamId) -> ArbitrationUpdate {
        let state = self.roles.get(role);
        let (code, message) = match state.and_then(|state| state.primary) {
            Some(primary) if primary == stream => (Code::Ok, "you are the primary"),
            Some(_) => (Code::AlreadyExists, "another client is the primary"),
            None => (Code::NotFound, "there is no primary"),
        };
        ArbitrationUpdate {
            device_id: self.device,
            role: (!role.is_empty()).then(|| Role {
                name: role.to_string(),
                ..Role::default()
            }),
            election_id: state.and_then(|state| state.highest),
            status: Some(RpcStatus {
                code: code as i32,
                message: message.to_string(),
                details: Vec::new(),
            }),
        }
    }

    /// Whether the client with this role and election id may change the device.
    pub fn check_primary(&self, role: &str, election_id: Option<Uint128>) -> Result<(), Refusal> {
        let Some(state) = self.roles.get(role) else {
            let message = format!("no client of this device has had the role {role:?}");
            return Err(Refusal::not_found(message));
        };
        let primary = state.primary.and_then(|id| self.clients.get(&id));
        let message = match primary {
            Some(client) if client.election_id == election_id => return Ok(()),
            Some(_) => "another client is the primary of this role",
            None => "this role has no primary; send an arbitration update first",
        };
        Err(Refusal::new(Code::PermissionDenied, message))
    }

    /// The primaries of all roles.
    pub fn primaries(&self) -> impl Iterator<Item = StreamId> + '_ {
        self.roles.values().filter_map(|state| state.primary)
    }
}

/// The name of a role. There is no scheme for what a role may do, so each may do everything.
fn role_of(update: &ArbitrationUpdate) -> Result<&str, Status> {
    let Some(role) = &update.role else {
        return Ok("");
    };
    if role.config.is_some() {
        let message = "this server agrees on no role configuration; leave role.config unset";
        return Err(Status::new(Code::InvalidArgument, message));
    }
    if role.id != 0 && role.name.is_empty() {
        let message = "role ids are deprecated; give the role a name";
        return Err(Status::new(Code::InvalidArgument, message));
    }
    Ok(&role.name)
}
