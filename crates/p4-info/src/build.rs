//! From what the program contains to P4Info.

use crate::model::*;
use crate::notes;
use crate::program::{ActionItem, BlockItem, Items, Program, TableItem, ValueSetItem};
use crate::symbols::{part_ids, Sort, Symbols};
use crate::tables::property;
use crate::types::Types;
use num_traits::ToPrimitive;
use p4_check::types::{Kind, Type};
use p4_check::value::Value;
use p4_check::{sentence, Checked};
use p4_syntax::ast::{Annotation, Decl, DeclKind, Direction, NodeId, Param};
use p4_syntax::{Diagnostic, SourceMap, Span};
use p4_syntax::{HashMap, HashSet};

pub(crate) struct Builder<'a, 'c> {
    pub program: Program<'a, 'c>,
    pub symbols: Symbols,
    pub types: Types<'a, 'c>,
    pub info: P4Info,
    /// By action profile the tables that use it
    pub profile_users: HashMap<String, Vec<String>>,
    pub unnamed_digests: HashMap<NodeId, usize>,
    /// Names in use, by what they are of
    names: HashMap<(Sort, String), Span>,
}

/// P4Info of a checked program, or why there is none.
pub(crate) fn build(checked: &Checked<'_>, sources: &SourceMap) -> Result<P4Info, Vec<Diagnostic>> {
    let mut builder = Builder {
        program: Program::new(checked, sources),
        symbols: Symbols::default(),
        types: Types::new(checked),
        info: P4Info::default(),
        profile_users: HashMap::default(),
        unnamed_digests: HashMap::default(),
        names: HashMap::default(),
    };
    let items = builder.program.items();
    builder.collect(&items);
    builder.symbols.assign();
    builder.add(&items);
    builder.pkg_info();
    if builder.program.arch.lists_externs {
        builder.ingress_parsers();
    }
    let mut info = builder.info;
    info.type_info = builder.types.info;
    let mut diagnostics = builder.types.diagnostics;
    if diagnostics.is_empty() {
        return Ok(info);
    }
    diagnostics.sort_by_key(|d| d.span);
    diagnostics.dedup();
    Err(diagnostics)
}

fn hidden(annotations: &[Annotation]) -> bool {
    notes::find(annotations, "hidden").is_some()
}

impl<'a, 'c> Builder<'a, 'c> {
    pub fn checked(&self) -> &'c Checked<'a> {
        self.program.checked
    }

    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.types.diagnostics.push(diagnostic);
    }

    /// All names, so that ids and aliases are known before the first object is put together.
    fn collect(&mut self, items: &Items<'a>) {
        for action in &items.actions {
            self.symbol(Sort::Action, &action.name, &action.decl.annotations);
        }
        for block in &items.blocks {
            match block {
                BlockItem::Table(table) => {
                    self.symbol(Sort::Table, &table.name, &table.decl.annotations);
                    self.collect_properties(table);
                }
                BlockItem::Extern(item) => {
                    if let Some(sort) = self.sort_of(item) {
                        self.symbol(sort, &item.name, item.annotations);
                    }
                }
            }
        }
        for set in &items.value_sets {
            self.symbol(Sort::ValueSet, &set.name, &set.decl.annotations);
        }
        for call in &items.functions {
            if let Some((name, _)) = self.digest_of(call) {
                self.symbol(Sort::Digest, &name, &[]);
            }
        }
        for header in self.controller_headers() {
            let name = self.header_name(header);
            self.symbol(Sort::ControllerHeader, &name, &header.annotations);
        }
    }

    /// Externs that tables make in their properties, and who uses which action profile.
    fn collect_properties(&mut self, table: &TableItem<'a>) {
        let arch = self.program.arch;
        for name in [
            arch.implementation_property,
            arch.counters_property,
            arch.meters_property,
        ] {
            let Some((property, expr)) = property(table.decl, name) else {
                continue;
            };
            let Some(item) = self.program.property_extern(&table.env, property, expr) else {
                continue;
            };
            let Some(sort) = self.sort_of(&item) else {
                continue;
            };
            if item.decl.is_none() {
                if notes::find(&property.annotations, "name").is_none() {
                    self.report(
                        Diagnostic::error(
                            "E0705",
                            property.span,
                            format!("The control plane has no name for what `{name}` makes here."),
                        )
                        .hint(format!(
                            "Give it one: `@name(\"profile\") {name} = ...;`, or declare it above."
                        )),
                    );
                }
                self.symbol(sort, &item.name, &property.annotations);
            }
            if name == arch.implementation_property {
                let users = self.profile_users.entry(item.name.clone()).or_default();
                users.push(table.name.clone());
            }
        }
    }

    fn symbol(&mut self, sort: Sort, name: &str, annotations: &[Annotation]) {
        let id = notes::object_id(sort, annotations, &mut self.types.diagnostics);
        self.symbols
            .add(sort, name, id, &mut self.types.diagnostics);
    }

    fn add(&mut self, items: &Items<'a>) {
        let mut added = HashSet::default();
        for action in &items.actions {
            // The same action is in every control that uses it.
            if !hidden(&action.decl.annotations) && added.insert(action.name.as_str()) {
                self.action(action);
            }
        }
        for block in &items.blocks {
            match block {
                BlockItem::Table(table) if hidden(&table.decl.annotations) => {}
                BlockItem::Table(table) => {
                    self.unique(Sort::Table, &table.name, table.decl.name.span);
                    self.table(table);
                }
                BlockItem::Extern(item) => {
                    if let Some(sort) = self.sort_of(item) {
                        self.unique(sort, &item.name, Self::span_of(item));
                    }
                    self.declared_extern(item);
                }
            }
        }
        for set in &items.value_sets {
            self.unique(Sort::ValueSet, &set.name, set.decl.name.span);
            self.value_set(set);
        }
        for call in &items.functions {
            self.digest(call);
        }
        if self.program.arch.lists_externs {
            self.hashes(&items.methods);
        }
        for header in self.controller_headers() {
            if !hidden(&header.annotations) {
                self.controller_header(header);
            }
        }
    }

    /// Reports a name that another object of the same sort has already.
    pub fn unique(&mut self, sort: Sort, name: &str, span: Span) {
        if let Some(first) = self.names.insert((sort, name.to_string()), span) {
            self.report(
                Diagnostic::error(
                    "E0704",
                    span,
                    format!(
                        "Two {} have the name `{name}` for the control plane.",
                        sort.describe()
                    ),
                )
                .label(first, "the other")
                .hint("Change one of the names, or the `@name` annotation that makes them alike."),
            );
        }
    }

    pub fn preamble(
        &mut self,
        sort: Sort,
        name: &str,
        annotations: &[Annotation],
        left_out: &[&str],
    ) -> Preamble {
        let checked = self.checked();
        Preamble {
            id: self.symbols.id(sort, name),
            name: name.to_string(),
            alias: self.symbols.alias(name),
            notes: notes::notes(checked, annotations, left_out, &mut self.types.diagnostics),
        }
    }

    /// The notes of a part of an object.
    pub fn notes(&mut self, annotations: &[Annotation], left_out: &[&str]) -> Notes {
        let checked = self.checked();
        notes::notes(checked, annotations, left_out, &mut self.types.diagnostics)
    }

    pub fn part_ids<'p>(
        &mut self,
        parts: impl Iterator<Item = (&'p [Annotation], Span)>,
    ) -> Vec<u32> {
        let out = &mut self.types.diagnostics;
        let given: Vec<(Option<u32>, Span)> = parts
            .map(|(list, span)| (notes::written_id(list, out), span))
            .collect();
        part_ids(&given, out)
    }

    fn action(&mut self, action: &ActionItem<'a>) {
        let DeclKind::Action { params, .. } = &action.decl.kind else {
            return;
        };
        let preamble = self.preamble(Sort::Action, &action.name, &action.decl.annotations, &[]);
        // The program itself gives the arguments for parameters with a direction.
        let data: Vec<&'a Param> = params
            .iter()
            .filter(|p| action.listed && p.direction == Direction::None)
            .collect();
        let ids = self.part_ids(data.iter().map(|p| (p.annotations.as_slice(), p.name.span)));
        let mut described = Vec::new();
        for (param, id) in data.into_iter().zip(ids) {
            let ty = self.checked().type_ref(param.ty.id);
            let ty = self.program.concrete(&action.env, ty);
            described.push(self.param(param, &ty, id));
        }
        self.info.actions.push(Action {
            preamble,
            params: described,
        });
    }

    fn param(&mut self, param: &Param, ty: &Type, id: u32) -> Field {
        let fits = matches!(
            ty,
            Type::Bit(_)
                | Type::Signed(_)
                | Type::Bool
                | Type::Named(Kind::NewType | Kind::SerEnum | Kind::Enum, ..)
        );
        let name = notes::text_of(self.checked(), &param.annotations, "name");
        let mut field = Field {
            id,
            name: name.unwrap_or_else(|| param.name.name.to_string()),
            notes: self.notes(&param.annotations, &[]),
            ..Field::default()
        };
        if !fits {
            self.report(
                Diagnostic::error(
                    "E0707",
                    param.name.span,
                    sentence(&format!("the control plane cannot give values of type {ty} to an action")),
                )
                .hint("Use bit<W>, int<W>, bool, an enum or a new type; a struct can be taken apart into several parameters."),
            );
            return field;
        }
        self.types.describe(ty, param.name.span);
        field.bitwidth = self.types.width(ty) as i32;
        field.type_name = match ty {
            Type::Named(Kind::NewType | Kind::Enum, ..) => Some(self.types.name(ty)),
            _ => None,
        };
        field
    }

    fn controller_headers(&self) -> Vec<&'a Decl> {
        let decls = self.checked().program.decls.iter();
        decls
            .filter(|d| {
                matches!(d.kind, DeclKind::Header { .. })
                    && notes::find(&d.annotations, "controller_header").is_some()
            })
            .collect()
    }

    fn header_name(&self, header: &Decl) -> String {
        let name = notes::text_of(self.checked(), &header.annotations, "name");
        let name = name.unwrap_or_else(|| header.name.name.to_string());
        name.trim_start_matches('.').to_string()
    }

    fn controller_header(&mut self, header: &'a Decl) {
        let given = notes::text_of(self.checked(), &header.annotations, "controller_header");
        let Some(name) = given else {
            return self.report(
                Diagnostic::error(
                    "E0709",
                    header.name.span,
                    "`@controller_header` needs a name in quotes.",
                )
                .hint("Write `@controller_header(\"packet_in\")` or `(\"packet_out\")`."),
            );
        };
        self.unique(Sort::ControllerHeader, &name, header.name.span);
        let own = self.header_name(header);
        let mut preamble = self.preamble(Sort::ControllerHeader, &own, &header.annotations, &[]);
        preamble.name = name.clone();
        preamble.alias = name;
        let ty = Type::Named(
            Kind::Header,
            header.id,
            header.name.name.clone(),
            Vec::new(),
        );
        let fields = self.types.flat_fields(&ty).unwrap_or_default();
        let span = header.name.span;
        let ids = self.part_ids(fields.iter().map(|f| (f.annotations.as_slice(), span)));
        let mut metadata = Vec::new();
        let mut layout = Vec::new();
        for (field, id) in fields.iter().zip(ids) {
            let is_hidden = hidden(&field.annotations);
            layout.push((
                (!is_hidden).then_some(id),
                self.types.stored_width(&field.ty),
            ));
            if is_hidden {
                continue;
            }
            self.types.describe(&field.ty, span);
            metadata.push(Field {
                id,
                name: field.name.clone(),
                notes: self.notes(&field.annotations, &[]),
                bitwidth: self.types.width(&field.ty) as i32,
                type_name: self.types.new_type_name(&field.ty),
            });
        }
        let header = ControllerPacketMetadata {
            preamble,
            metadata,
            layout,
        };
        self.info.controller_packet_metadata.push(header);
    }

    fn value_set(&mut self, set: &ValueSetItem<'a>) {
        let DeclKind::ValueSet { element, size } = &set.decl.kind else {
            return;
        };
        let size = self.program.eval(&set.env, size);
        let size = size.and_then(|v| v.as_int()?.to_i32()).unwrap_or(0);
        let preamble = self.preamble(Sort::ValueSet, &set.name, &set.decl.annotations, &[]);
        let ty = self.checked().type_ref(element.id);
        let ty = self.program.concrete(&set.env, ty);
        let matches = self.set_matches(&ty, element.span);
        self.info.value_sets.push(ValueSet {
            preamble,
            matches,
            size,
        });
    }

    fn set_matches(&mut self, ty: &Type, span: Span) -> Vec<MatchField> {
        let plain = |id, name: &str, width: u32| MatchField {
            id,
            name: name.to_string(),
            notes: Notes::default(),
            bitwidth: width as i32,
            match_type: MatchType::Exact,
            type_name: None,
        };
        match ty {
            Type::Bit(width) | Type::Signed(width) => return vec![plain(1, "", *width)],
            Type::Named(Kind::SerEnum, id, ..) => {
                let width = self.types.width(ty);
                let decl = self.checked().decls.get(id);
                if let Some(DeclKind::Enum { members, .. }) = decl.map(|d| &d.kind) {
                    let members = members.iter().zip(1..);
                    return members
                        .map(|(m, id)| plain(id, &m.name.name, width))
                        .collect();
                }
            }
            Type::Named(Kind::Struct, ..) => {
                let fields = self.checked().fields_of(ty).unwrap_or_default();
                let ids = self.part_ids(fields.iter().map(|(.., list)| (*list, span)));
                let mut matches = Vec::new();
                for ((name, ty, list), id) in fields.iter().zip(ids) {
                    let given = notes::text_of(self.checked(), list, "name");
                    let name = given.as_deref().unwrap_or(name);
                    let (Type::Bit(width) | Type::Signed(width)) = ty else {
                        self.bad_set(ty, span);
                        continue;
                    };
                    let kind = notes::tokens_of(list, "match").first();
                    matches.push(MatchField {
                        notes: self.notes(list, &["match", "name"]),
                        match_type: match_type(kind.map_or("exact", |token| &token.text)),
                        ..plain(id, name, *width)
                    });
                }
                return matches;
            }
            _ => {}
        }
        self.bad_set(ty, span);
        Vec::new()
    }

    fn bad_set(&mut self, ty: &Type, span: Span) {
        self.report(
            Diagnostic::error(
                "E0703",
                span,
                format!("The control plane cannot fill a value set of {ty}."),
            )
            .hint("Use bit<W>, a struct with fields of bit<W>, or an enum with a type."),
        );
    }

    /// The parsers through which a Tofino's packets come in.
    fn ingress_parsers(&mut self) {
        for (pipeline, blocks) in self.program.instances_of("Pipeline") {
            let Some((arg, parser)) = blocks.first().copied() else {
                continue;
            };
            let DeclKind::Parser { proto, .. } = &parser.kind else {
                continue;
            };
            let unpacked = self.program.types_for(arg, "port_metadata_unpack");
            let names = blocks.iter().map(|(_, decl)| decl.name.name.to_string());
            let intrinsic = proto.params.iter().find(|param| {
                let ty = self.checked().type_ref(param.ty.id);
                matches!(ty, Type::Named(_, _, name, _) if &**name == "ingress_intrinsic_metadata_t")
            });
            let span = parser.name.span;
            let own = IngressParser {
                pipeline: pipeline.name.name.to_string(),
                blocks: names.collect(),
                parser: parser.name.name.to_string(),
                intrinsic: intrinsic.map_or(String::new(), |param| param.name.name.to_string()),
                port_metadata: unpacked.first().map(|ty| self.types.describe(ty, span)),
            };
            self.info.ingress_parsers.push(own);
        }
    }

    fn pkg_info(&mut self) {
        let Some(main) = self.checked().main else {
            return;
        };
        let mut info = PkgInfo {
            arch: self.program.arch.name.to_string(),
            notes: self.notes(&main.annotations, &["pkginfo", "platform_property"]),
            ..PkgInfo::default()
        };
        for (key, value) in notes::pairs_of(self.checked(), &main.annotations, "pkginfo") {
            let Value::String(text) = value else {
                continue;
            };
            let field = match key.as_str() {
                "name" => &mut info.name,
                "version" => &mut info.version,
                "arch" => &mut info.arch,
                "organization" => &mut info.organization,
                "contact" => &mut info.contact,
                "url" => &mut info.url,
                _ => continue,
            };
            *field = text.to_string();
        }
        if notes::find(&main.annotations, "platform_property").is_some() {
            info.platform_properties = Some(self.platform(&main.annotations));
        }
        self.info.pkg_info = Some(info);
    }

    fn platform(&self, annotations: &[Annotation]) -> PlatformProperties {
        let mut platform = PlatformProperties::default();
        for (key, value) in notes::pairs_of(self.checked(), annotations, "platform_property") {
            let number = value.as_int().and_then(|v| v.to_i32()).unwrap_or(0);
            match key.as_str() {
                "multicast_group_table_size" => platform.multicast_group_table_size = number,
                "multicast_group_table_total_replicas" => {
                    platform.multicast_group_table_total_replicas = number
                }
                "multicast_group_table_max_replicas_per_entry" => {
                    platform.multicast_group_table_max_replicas_per_entry = number
                }
                _ => {}
            }
        }
        platform
    }
}

pub(crate) fn match_type(name: &str) -> MatchType {
    match name {
        "exact" => MatchType::Exact,
        "lpm" => MatchType::Lpm,
        "ternary" => MatchType::Ternary,
        "range" => MatchType::Range,
        "optional" => MatchType::Optional,
        other => MatchType::Other(other.to_string()),
    }
}
