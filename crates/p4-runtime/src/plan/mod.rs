//! One update of a batch: what it means for the engine, and what has to be remembered of it.

mod cells;
mod profiles;
mod replication;
mod table;

pub use cells::index as cell_index;
pub use profiles::live_members;
pub use replication::{clone_updates, group_update};

use crate::bytes::number;
use crate::messages::{EntityKind, Update, UpdateType};
use crate::plant::Plant;
use crate::schema::Schema;
use crate::status::Refusal;
use crate::store::Store;
use std::collections::BTreeSet;

/// What is done when the engine has taken the rest.
pub type Effect = Box<dyn FnOnce(&mut Store) + Send>;

/// An update, understood.
#[derive(Default)]
pub struct Plan {
    /// All are done or none
    pub updates: Vec<p4_state::Update>,
    pub effect: Option<Effect>,
}

impl Plan {
    fn of(updates: impl IntoIterator<Item = p4_state::Update>) -> Plan {
        Plan {
            updates: updates.into_iter().collect(),
            effect: None,
        }
    }

    fn then(mut self, effect: impl FnOnce(&mut Store) + Send + 'static) -> Plan {
        self.effect = Some(Box::new(effect));
        self
    }
}

/// Understands updates, one after the other.
pub struct Planner<'a> {
    pub schema: &'a Schema,
    pub store: &'a mut Store,
    pub ports: Ports,
}

/// The ports that a device has.
#[derive(Clone, Debug, Default)]
pub struct Ports {
    /// `None` if any number may be one
    known: Option<BTreeSet<u16>>,
    cpu: Option<u16>,
}

/// Specification, 18.1.1: the number of the port to the controller, whatever it is in the device
const SDN_CPU: u32 = 0xffff_fffd;
/// v1model's ports have 9 bits.
const PORTS: u32 = 512;

impl Ports {
    pub fn of(plant: &dyn Plant) -> Ports {
        Ports {
            known: plant.ports(),
            cpu: plant.cpu_port(),
        }
    }

    /// A port of a packet's copy: any that v1model can name, since ports come and go.
    fn port(&self, bytes: &[u8]) -> Result<u16, Refusal> {
        let value = number(bytes, 32).map_err(|bad| Refusal::invalid(bad.about("the port", 32)))?;
        self.numbered(u32::try_from(&value).unwrap_or(u32::MAX))
    }

    fn numbered(&self, port: u32) -> Result<u16, Refusal> {
        match (port, self.cpu) {
            (SDN_CPU, Some(cpu)) => Ok(cpu),
            (SDN_CPU, None) => Err(Refusal::invalid("this device has no CPU port")),
            (0..PORTS, _) => Ok(port as u16),
            _ => Err(Refusal::invalid(format!(
                "port {port} is none of v1model's, which are 0 to 511"
            ))),
        }
    }

    /// A port whose state matters: it has to be there.
    fn watched(&self, bytes: &[u8]) -> Result<u16, Refusal> {
        let port = self.port(bytes)?;
        match &self.known {
            Some(known) if !known.contains(&port) => {
                Err(Refusal::invalid(format!("this device has no port {port}")))
            }
            _ => Ok(port),
        }
    }
}

impl Planner<'_> {
    /// What `update` means. Nothing is changed yet.
    pub fn plan(&mut self, update: &Update) -> Result<Plan, Refusal> {
        let how = UpdateType::try_from(update.r#type).unwrap_or(UpdateType::Unspecified);
        if how == UpdateType::Unspecified {
            let message = "the update has no type; it must be INSERT, MODIFY or DELETE";
            return Err(Refusal::invalid(message));
        }
        let entity = update.entity.as_ref().and_then(|e| e.entity.as_ref());
        match entity.ok_or_else(|| Refusal::invalid("the update has no entity"))? {
            EntityKind::Table(entry) => self.table(how, entry),
            EntityKind::Member(member) => self.member(how, member),
            EntityKind::Group(group) => self.group(how, group),
            EntityKind::Counter(entry) => self.counter(how, entry),
            EntityKind::DirectCounter(entry) => self.direct_counter(how, entry),
            EntityKind::Meter(entry) => self.meter(how, entry),
            EntityKind::DirectMeter(entry) => self.direct_meter(how, entry),
            EntityKind::Register(entry) => self.register(how, entry),
            EntityKind::ValueSet(entry) => self.value_set(how, entry),
            EntityKind::Digest(entry) => self.digest(how, entry),
            EntityKind::Replication(entry) => self.replication(how, entry),
            EntityKind::Extern(_) => Err(no_externs()),
        }
    }

    /// Whether `update` neither asks for what was remembered nor leaves anything to remember, so
    /// that many of its kind can be planned at once.
    pub fn is_plain(&self, update: &Update) -> bool {
        let Some(EntityKind::Table(entry)) = update.entity.as_ref().and_then(|e| e.entity.as_ref())
        else {
            return false;
        };
        let Ok(table) = self.schema.table(entry.table_id) else {
            return false;
        };
        table.profile.is_none()
            && !entry.is_default_action
            && entry.metadata.is_empty()
            && entry.controller_metadata == 0
            && entry.idle_timeout_ns == 0
            && !self.store.has_extras(table.id)
    }
}

pub fn no_externs() -> Refusal {
    Refusal::unimplemented("v1model has no externs beyond those of the specification")
}

/// Refuses updates of entities that are always there.
fn only_modify(how: UpdateType, what: &str) -> Result<(), Refusal> {
    match how {
        UpdateType::Modify => Ok(()),
        _ => Err(Refusal::invalid(format!(
            "a {what} can only be modified, not inserted or deleted"
        ))),
    }
}
