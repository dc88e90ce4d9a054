//! Sections 7, 14, 15 and 17: forwarding pipelines and capabilities.

use crate::support::*;
use p4_runtime::messages::p4info::P4Info;
use p4_runtime::messages::*;
use p4_runtime::{Code, Job, Plant, Status};
use prost::Message;

const COOKIE: Option<Cookie> = Some(Cookie { cookie: 42 });

/// What a compiler gives for the device: P4Info of a lab that runs the same program.
fn info(lab: &Lab) -> Vec<u8> {
    let config = get(lab, ResponseType::All).expect("a configuration");
    config.p4info.expect("P4Info")
}

fn get(lab: &Lab, response_type: ResponseType) -> Option<PipelineConfig> {
    let request = GetPipelineRequest {
        device_id: DEVICE,
        response_type: response_type as i32,
    };
    lab.server.get_pipeline(&request).expect("a device").config
}

fn set(lab: &Lab, action: ConfigAction, config: Option<PipelineConfig>) -> Result<(), Status> {
    let request = SetPipelineRequest {
        device_id: DEVICE,
        election_id: id(1),
        action: action as i32,
        config,
        ..SetPipelineRequest::default()
    };
    lab.server.set_pipeline(&request).map(|_| ())
}

fn source(info: &[u8], text: &str) -> Option<PipelineConfig> {
    Some(PipelineConfig {
        p4info: Some(info.to_vec()),
        p4_device_config: text.as_bytes().to_vec(),
        cookie: COOKIE,
    })
}

#[test]
fn p4_source_is_a_device_configuration() {
    let mut lab = empty_lab();
    let _client = lab.arbitrated(1);
    let info = info(&crate::support::lab());
    set(&lab, ConfigAction::VerifyAndCommit, source(&info, PROGRAM)).expect("a pipeline");
    lab.pipeline = compile(PROGRAM).ok();
    lab.insert(EntityKind::Table(lab.l2(5, 3)))
        .expect("an entry");
    assert_eq!(lab.send(1, &frame(5, 1, 1))[0].0, 3);
}

/// As p4lang's tutorials send it: `reassign` and `device_data` of p4.tmp.P4DeviceConfig.
fn wrapped(data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x08, 0x01, 0x1a];
    prost::encoding::encode_varint(data.len() as u64, &mut bytes);
    bytes.extend(data);
    bytes
}

#[test]
fn a_program_is_found_in_json_and_in_a_wrapper() {
    let carried = serde_json::json!({
        "program": "elsewhere.p4",
        "p4lab": {"name": "elsewhere.p4", "source": PROGRAM},
    });
    let json = carried.to_string();
    let info = info(&crate::support::lab());
    for device in [
        json.as_bytes().to_vec(),
        wrapped(json.as_bytes()),
        wrapped(PROGRAM.as_bytes()),
    ] {
        let lab = empty_lab();
        let _client = lab.arbitrated(1);
        let config = PipelineConfig {
            p4info: Some(info.clone()),
            p4_device_config: device,
            cookie: None,
        };
        set(&lab, ConfigAction::VerifyAndCommit, Some(config)).expect("a pipeline");
    }
}

#[test]
fn a_configuration_is_found_by_its_p4info_or_its_json() {
    let lab = lab();
    let _client = lab.arbitrated(1);
    let info = info(&lab);
    let with = |device: &[u8]| {
        let config = PipelineConfig {
            p4info: Some(info.clone()),
            p4_device_config: device.to_vec(),
            cookie: None,
        };
        code(set(&lab, ConfigAction::VerifyAndCommit, Some(config)))
    };
    assert_eq!(with(b""), Ok(()));
    assert_eq!(with(b"\x00\x01whatever"), Ok(()));
    assert_eq!(
        with(br#"{"program": "everything.p4", "parsers": []}"#),
        Ok(())
    );
    assert_eq!(
        with(br#"{"program": "elsewhere.p4"}"#),
        Ok(()),
        "the running program's P4Info"
    );
}

#[test]
fn without_its_source_json_is_refused_in_a_sentence() {
    let lab = empty_lab();
    let _client = lab.arbitrated(1);
    let config = source(
        &info(&crate::support::lab()),
        r#"{"program": "elsewhere.p4"}"#,
    );
    let status = set(&lab, ConfigAction::VerifyAndCommit, config).expect_err("no source");
    assert_eq!(status.code, Code::InvalidArgument);
    assert!(status.message.contains("elsewhere.p4"), "{status}");
}

#[test]
fn p4info_of_another_program_is_refused() {
    let lab = lab();
    let _client = lab.arbitrated(1);
    let mut other = P4Info::decode(info(&lab).as_slice()).expect("P4Info");
    other.tables[0].match_fields[0].bitwidth += 1;
    let status = set(
        &lab,
        ConfigAction::Verify,
        source(&other.encode_to_vec(), ""),
    );
    let status = status.expect_err("another program");
    assert_eq!(status.code, Code::InvalidArgument);
    let name = &other.tables[0].preamble.as_ref().expect("a preamble").name;
    assert!(status.message.contains(name.as_str()), "{status}");
}

#[test]
fn what_cannot_be_realized_is_invalid() {
    let lab = lab();
    let _client = lab.arbitrated(1);
    let info = info(&lab);
    for action in [
        ConfigAction::Verify,
        ConfigAction::VerifyAndSave,
        ConfigAction::VerifyAndCommit,
        ConfigAction::ReconcileAndCommit,
    ] {
        let invalid = Err(Code::InvalidArgument);
        assert_eq!(
            code(set(&lab, action, None)),
            invalid,
            "{action:?}: no configuration"
        );
        let broken = source(&info, "#include <v1model.p4>\nmain");
        assert_eq!(
            code(set(&lab, action, broken)),
            invalid,
            "{action:?}: no program"
        );
        let garbage = source(b"\xff\xff\xff", PROGRAM);
        assert_eq!(
            code(set(&lab, action, garbage)),
            invalid,
            "{action:?}: no P4Info"
        );
    }
    assert_eq!(
        get(&lab, ResponseType::All)
            .expect("a configuration")
            .cookie,
        None
    );
}

#[test]
fn a_pipeline_needs_device_then_primary_and_an_action() {
    let lab = lab();
    let request = |device_id, role: &str, action| {
        let request = SetPipelineRequest {
            device_id,
            role: role.to_string(),
            election_id: id(1),
            action,
            ..SetPipelineRequest::default()
        };
        code(lab.server.set_pipeline(&request).map(|_| ()))
    };
    assert_eq!(request(8, "", 1), Err(Code::NotFound));
    assert_eq!(request(DEVICE, "nobody", 1), Err(Code::NotFound));
    assert_eq!(request(DEVICE, "", 1), Err(Code::PermissionDenied));
    let _client = lab.arbitrated(1);
    assert_eq!(request(DEVICE, "", 0), Err(Code::InvalidArgument));
    assert_eq!(request(DEVICE, "", 77), Err(Code::InvalidArgument));
}

#[test]
fn verify_changes_nothing() {
    let lab = lab();
    let _client = lab.arbitrated(1);
    lab.insert(EntityKind::Table(lab.l2(1, 2)))
        .expect("an entry");
    set(&lab, ConfigAction::Verify, source(&info(&lab), PROGRAM)).expect("a pipeline");
    assert_eq!(lab.read_entry(lab.l2(1, 2)), lab.l2(1, 2));
    assert_eq!(
        get(&lab, ResponseType::CookieOnly)
            .expect("a configuration")
            .cookie,
        None
    );
}

#[test]
fn verify_and_commit_clears_the_state() {
    let lab = lab();
    let _client = lab.arbitrated(1);
    let remembered = TableEntry {
        metadata: b"x".to_vec(),
        ..lab.l2(1, 2)
    };
    lab.insert(EntityKind::Table(remembered)).expect("an entry");
    set(
        &lab,
        ConfigAction::VerifyAndCommit,
        source(&info(&lab), PROGRAM),
    )
    .expect("a pipeline");
    let mut key = lab.l2(1, 2);
    key.action = None;
    assert_eq!(lab.read(EntityKind::Table(key)), Ok(vec![]));
    assert_eq!(lab.send(1, &frame(1, 1, 1))[0].0, 0);
}

/// Queues are the switch's: a controller that sets a pipeline does not make its links faster.
#[test]
fn limits_of_queues_stay() {
    let mut lab = lab();
    let _client = lab.arbitrated(1);
    let slow: Job = Box::new(|host| {
        let switch = host.switch().expect("a switch");
        switch.set_queue_rate(Some(3), None, 1).expect("a rate");
        switch.set_queue_depth(None, None, 2).expect("a depth");
    });
    lab.bench.run(slow).expect("a switch");
    for _ in 0..2 {
        let config = source(&info(&lab), PROGRAM);
        set(&lab, ConfigAction::VerifyAndCommit, config).expect("a pipeline");
        lab.pipeline = compile(PROGRAM).ok();
        lab.insert(EntityKind::Table(lab.l2(5, 3)))
            .expect("an entry");
        let sent = [1, 2].map(|_| lab.send(1, &frame(5, 1, 1)).len());
        assert_eq!(sent, [1, 0], "the second packet waits for a second");
    }
}

#[test]
fn saved_configurations_take_writes_and_are_committed_with_them() {
    let lab = lab();
    let _client = lab.arbitrated(1);
    lab.insert(EntityKind::Table(lab.l2(1, 2)))
        .expect("an entry");
    set(
        &lab,
        ConfigAction::VerifyAndSave,
        source(&info(&lab), PROGRAM),
    )
    .expect("a pipeline");
    // The forwarding state is as it was, but requests are about the new program.
    let dsts = || -> Vec<u64> {
        let ports = [1, 2].map(|dst| lab.send(1, &frame(dst, 1, 1))[0].0);
        ports.map(u64::from).to_vec()
    };
    lab.insert(EntityKind::Table(lab.l2(2, 3)))
        .expect("an entry");
    let all = TableEntry {
        table_id: lab.id("l2"),
        ..TableEntry::default()
    };
    assert_eq!(lab.read_entry(all), lab.l2(2, 3));
    assert_eq!(dsts(), [2, 0]);
    set(&lab, ConfigAction::Commit, None).expect("a commit");
    assert_eq!(dsts(), [0, 3]);
}

#[test]
fn commit_needs_a_saved_configuration_and_takes_no_other() {
    let lab = lab();
    let _client = lab.arbitrated(1);
    assert_eq!(
        code(set(&lab, ConfigAction::Commit, None)),
        Err(Code::NotFound)
    );
    let config = source(&info(&lab), PROGRAM);
    set(&lab, ConfigAction::VerifyAndSave, config.clone()).expect("a pipeline");
    let done = set(&lab, ConfigAction::Commit, config);
    assert_eq!(code(done), Err(Code::InvalidArgument));
    assert_eq!(code(set(&lab, ConfigAction::Commit, None)), Ok(()));
    assert_eq!(
        code(set(&lab, ConfigAction::Commit, None)),
        Err(Code::NotFound)
    );
}

#[test]
fn reconcile_keeps_the_state() {
    let lab = lab();
    let _client = lab.arbitrated(1);
    let mut entry = lab.l2(1, 2);
    entry.metadata = b"mine".to_vec();
    entry.counter_data = Some(CounterData {
        packet_count: 5,
        byte_count: 50,
    });
    lab.insert(EntityKind::Table(entry.clone()))
        .expect("an entry");
    let set_of = ActionProfileActionSet {
        actions: vec![ActionProfileAction {
            action: Some(lab.action("plain", &[6])),
            weight: 1,
            watch: None,
        }],
        ..ActionProfileActionSet::default()
    };
    let mut one_shot = lab.entry("balance", vec![exact(1)], lab.action("drop", &[]));
    one_shot.action = Some(TableAction {
        r#type: Some(TableActionKind::OneShot(set_of)),
    });
    lab.insert(EntityKind::Table(one_shot.clone()))
        .expect("a one-shot");
    let cell = RegisterEntry {
        register_id: lab.id("numbers"),
        index: Some(Index { index: 3 }),
        data: Some(P4DataKind::Bitstring(vec![9]).into()),
    };
    lab.modify(EntityKind::Register(cell.clone()))
        .expect("a register");
    // The same P4Info, but another program: forward leaves by the next port.
    let changed = PROGRAM.replace(
        "action forward(bit<9> port) { s.egress_spec = port;",
        "action forward(bit<9> port) { s.egress_spec = port + 1;",
    );
    let config = source(&info(&lab), &changed);
    set(&lab, ConfigAction::ReconcileAndCommit, config).expect("a pipeline");
    assert_eq!(
        lab.send(1, &frame(1, 1, 0))[0].0,
        3,
        "the new program, the old entry"
    );
    let mut asked = entry.clone();
    asked.action = None;
    entry.counter_data = Some(CounterData {
        packet_count: 6,
        byte_count: 114,
    });
    assert_eq!(lab.read_entry(asked), entry);
    assert_eq!(lab.send(1, &frame(9, 1, 1))[0].0, 6);
    let read = lab.read(EntityKind::Register(cell.clone()));
    assert_eq!(read, Ok(vec![EntityKind::Register(cell)]));
    assert_eq!(
        get(&lab, ResponseType::CookieOnly)
            .expect("a configuration")
            .cookie,
        COOKIE
    );
}

#[test]
fn reconcile_refuses_what_cannot_be_kept() {
    let lab = lab();
    let _client = lab.arbitrated(1);
    lab.insert(EntityKind::Table(lab.l2(1, 2)))
        .expect("an entry");
    lab.insert(EntityKind::Table(lab.l2(2, 2)))
        .expect("an entry");
    let smaller = PROGRAM.replace("size = 100;", "size = 1;");
    let info = info(&lab_with(&smaller));
    let done = set(
        &lab,
        ConfigAction::ReconcileAndCommit,
        source(&info, &smaller),
    );
    assert_eq!(code(done), Err(Code::InvalidArgument));
    assert_eq!(lab.read_entry(lab.l2(2, 2)), lab.l2(2, 2), "as it was");
    assert_eq!(lab.send(1, &frame(2, 1, 1))[0].0, 2);
}

#[test]
fn a_configuration_is_returned_as_asked_for() {
    let lab = lab();
    let _client = lab.arbitrated(1);
    let mut config = source(&info(&lab), PROGRAM).expect("a configuration");
    // A field that this server does not know comes back, too.
    let unknown = [0xfa, 0xff, 0x01, 0x01, b'x'];
    config.p4info.as_mut().expect("P4Info").extend(unknown);
    set(&lab, ConfigAction::VerifyAndCommit, Some(config.clone())).expect("a pipeline");
    assert_eq!(get(&lab, ResponseType::All), Some(config.clone()));
    let only = PipelineConfig {
        cookie: COOKIE,
        ..PipelineConfig::default()
    };
    assert_eq!(get(&lab, ResponseType::CookieOnly), Some(only.clone()));
    let with_info = PipelineConfig {
        p4info: config.p4info.clone(),
        ..only.clone()
    };
    assert_eq!(get(&lab, ResponseType::P4InfoAndCookie), Some(with_info));
    let with_device = PipelineConfig {
        p4_device_config: config.p4_device_config.clone(),
        ..only
    };
    assert_eq!(
        get(&lab, ResponseType::DeviceConfigAndCookie),
        Some(with_device)
    );
}

#[test]
fn without_a_pipeline_none_is_returned() {
    assert_eq!(get(&empty_lab(), ResponseType::All), None);
    let request = GetPipelineRequest {
        device_id: 8,
        response_type: 0,
    };
    let status = lab().server.get_pipeline(&request).expect_err("no device");
    assert_eq!(status.code, Code::NotFound);
}

#[test]
fn a_program_from_the_start_has_p4info_and_no_cookie() {
    let config = get(&lab(), ResponseType::All).expect("a configuration");
    let info = P4Info::decode(config.p4info.expect("P4Info").as_slice()).expect("P4Info");
    assert_eq!(info.tables.len(), 8);
    assert_eq!(info.controller_packet_metadata.len(), 2);
    assert!(info
        .type_info
        .expect("types")
        .structs
        .contains_key("learn_t"));
    assert_eq!(config.cookie, None);
}

#[test]
fn capabilities_name_the_version() {
    let lab = lab();
    let version = |device_id| {
        let request = CapabilitiesRequest { device_id };
        let answer = lab.server.capabilities(&request);
        answer.map(|answer| answer.p4runtime_api_version)
    };
    assert_eq!(version(0).as_deref(), Ok("1.5.0"));
    assert_eq!(version(DEVICE).as_deref(), Ok("1.5.0"));
    assert_eq!(version(8).expect_err("no device").code, Code::NotFound);
}
