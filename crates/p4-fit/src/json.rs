//! The graph as JSON.

use crate::model::*;
use p4_syntax::span::Span;
use p4_syntax::SourceMap;
use serde_json::{json, Value};

pub fn graph(graph: &Graph, sources: &SourceMap) -> Value {
    let to_json = Json { sources };
    let pipes: Vec<Value> = graph.pipes.iter().map(|pipe| to_json.pipe(pipe)).collect();
    json!({"architecture": graph.architecture, "pipes": pipes})
}

struct Json<'s> {
    sources: &'s SourceMap,
}

impl Json<'_> {
    fn place(&self, span: Span) -> Value {
        match self.sources.locate(span.lo) {
            Some(place) if span != Span::NONE => {
                json!({"file": place.file.to_string(), "line": place.line, "column": place.column})
            }
            _ => Value::Null,
        }
    }

    fn pipe(&self, pipe: &Pipe) -> Value {
        let gresses: Vec<Value> = pipe.gresses.iter().map(|g| self.gress(g)).collect();
        json!({"name": pipe.name, "gresses": gresses})
    }

    fn gress(&self, gress: &Gress) -> Value {
        let fields: Vec<Value> = gress
            .fields
            .iter()
            .map(|f| json!({"name": f.name, "width": f.width, "header": f.header, "intrinsic": f.intrinsic}))
            .collect();
        let units: Vec<Value> = gress.units.iter().map(|unit| self.unit(unit)).collect();
        let resources: Vec<Value> = gress.resources.iter().map(|r| self.resource(r)).collect();
        json!({
            "gress": if gress.ingress { "ingress" } else { "egress" },
            "control": gress.control,
            "place": self.place(gress.span),
            "fields": fields,
            "units": units,
            "resources": resources,
            "parsed": gress.parsed,
            "deparsed": gress.deparsed,
            "notes": gress.notes,
        })
    }

    fn unit(&self, unit: &Unit) -> Value {
        let kind = match unit.kind {
            UnitKind::Table => "table",
            UnitKind::Statements => "statements",
            UnitKind::Call => "call",
            UnitKind::Condition => "condition",
        };
        let guards: Vec<Value> = unit
            .guards
            .iter()
            .map(|guard| json!([guard.unit, guard.arms]))
            .collect();
        let actions: Vec<Value> = unit.actions.iter().map(|a| self.action(a)).collect();
        json!({
            "kind": kind,
            "name": unit.name,
            "place": self.place(unit.span),
            "guards": guards,
            "reads": accesses(&unit.reads),
            "actions": actions,
            "table": unit.table.as_ref().map(table),
        })
    }

    fn action(&self, action: &Action) -> Value {
        let writes: Vec<Value> = action
            .writes
            .iter()
            .map(|write| {
                let value = match write.value {
                    Written::Zero => json!("zero"),
                    Written::Constant => json!("constant"),
                    Written::Copy(from) => access(&from),
                    Written::Computed => Value::Null,
                };
                json!({"to": access(&write.access), "value": value})
            })
            .collect();
        let uses: Vec<Value> = action
            .uses
            .iter()
            .map(|used| json!({"resource": used.resource, "by_hash": used.by_hash}))
            .collect();
        json!({
            "name": action.name,
            "place": self.place(action.span),
            "reads": accesses(&action.reads),
            "crossbar": accesses(&action.crossbar),
            "writes": writes,
            "data": action.data,
            "uses": uses,
            "default_only": action.default_only,
        })
    }

    fn resource(&self, resource: &Resource) -> Value {
        let kind = match resource.kind {
            ResourceKind::Register => "register",
            ResourceKind::Counter => "counter",
            ResourceKind::Meter => "meter",
            ResourceKind::Filter => "filter",
            ResourceKind::Hash => "hash",
            ResourceKind::Random => "random",
            ResourceKind::ActionProfile => "action_profile",
            ResourceKind::Selector => "selector",
        };
        json!({
            "kind": kind,
            "name": resource.name,
            "place": self.place(resource.span),
            "size": resource.size,
            "width": resource.width,
            "both": resource.both,
        })
    }
}

fn access(access: &Access) -> Value {
    json!([access.field, access.lo, access.hi])
}

fn accesses(list: &[Access]) -> Value {
    list.iter().map(access).collect()
}

fn table(table: &Table) -> Value {
    let keys: Vec<Value> = table
        .keys
        .iter()
        .map(|key| json!({"name": key.name, "match_kind": key.match_kind, "width": key.width}))
        .collect();
    json!({
        "keys": keys,
        "size": table.size,
        "const_entries": table.const_entries,
        "default": table.default,
        "const_default": table.const_default,
        "resources": table.resources,
        "idle_timeout": table.idle_timeout,
    })
}
