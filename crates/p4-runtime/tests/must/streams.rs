//! Sections 9.8 and 16: packets, digests and errors on the stream.

use crate::support::*;
use p4_runtime::messages::*;
use p4_runtime::Code;

fn packet_out(payload: &[u8], fields: &[(u32, u64)]) -> PacketOut {
    let field = |(metadata_id, value): &(u32, u64)| PacketMetadata {
        metadata_id: *metadata_id,
        value: bytes(*value),
    };
    PacketOut {
        payload: payload.to_vec(),
        metadata: fields.iter().map(field).collect(),
    }
}

/// Sends a packet-out; gives the error that came of it and the frames that left.
fn send(lab: &Lab, client: &mut Client, packet: PacketOut) -> (Option<Code>, Vec<(u16, Vec<u8>)>) {
    client.told();
    lab.say(client, StreamRequest::Packet(packet.clone()))
        .expect("the stream goes on");
    let told = client.told();
    let code = match &told[..] {
        [] => None,
        [StreamResponse::Error(error)] => {
            let details = Some(StreamErrorDetails::PacketOut(PacketOutError {
                packet_out: Some(packet),
            }));
            assert_eq!(error.details, details);
            let code = error.canonical_code;
            let known = [
                Code::InvalidArgument,
                Code::PermissionDenied,
                Code::FailedPrecondition,
            ];
            known.into_iter().find(|known| *known as i32 == code)
        }
        other => panic!("{other:?}"),
    };
    (code, std::mem::take(&mut *lab.sent.lock().expect("frames")))
}

#[test]
fn a_packet_out_leaves_as_its_metadata_says() {
    let lab = lab();
    let mut client = lab.arbitrated(1);
    let payload = frame(1, 2, 3);
    let out = packet_out(&payload, &[(1, 300), (2, 0)]);
    let expected = vec![(300, payload)];
    assert_eq!(send(&lab, &mut client, out), (None, expected));
}

/// Programs like SONiC's have such headers; without this their controllers cannot send a packet out.
#[test]
fn a_translated_port_and_a_hidden_field_have_their_widths_in_a_packet() {
    let own = "header packet_out_t { bit<9> egress_port; bit<7> rest; }";
    let text = PROGRAM.replacen(
        &format!("@controller_header(\"packet_out\")\n{own}"),
        "@p4runtime_translation(\"\", 32) type bit<9> port_t;\n\
         @controller_header(\"packet_out\")\n\
         header packet_out_t { port_t egress_port; @hidden bit<7> rest; }",
        1,
    );
    let text = text.replace("h.to.egress_port", "(bit<9>) h.to.egress_port");
    assert!(!text.contains(own));
    let lab = lab_with(&text);
    let mut client = lab.arbitrated(1);
    let payload = frame(1, 2, 3);
    let out = packet_out(&payload, &[(1, 300)]);
    assert_eq!(
        send(&lab, &mut client, out),
        (None, vec![(300, payload.clone())])
    );
    let out = packet_out(&payload, &[(1, 512)]);
    let answer = send(&lab, &mut client, out);
    assert_eq!(answer, (Some(Code::InvalidArgument), vec![]));
}

#[test]
fn a_packet_out_with_wrong_metadata_is_dropped_and_told() {
    let lab = lab();
    let mut client = lab.arbitrated(1);
    for fields in [
        &[][..],
        &[(1, 1)],
        &[(1, 1), (2, 0), (3, 0)],
        &[(1, 1), (1, 1), (2, 0)],
        &[(1, 512), (2, 0)],
    ] {
        let out = packet_out(&frame(1, 2, 3), fields);
        let answer = send(&lab, &mut client, out);
        assert_eq!(answer, (Some(Code::InvalidArgument), vec![]), "{fields:?}");
    }
    let mut empty = packet_out(&frame(1, 2, 3), &[(1, 1), (2, 0)]);
    empty.metadata[0].value.clear();
    let answer = send(&lab, &mut client, empty);
    assert_eq!(answer, (Some(Code::InvalidArgument), vec![]));
}

#[test]
fn a_packet_out_of_a_backup_is_dropped_and_told() {
    let lab = lab();
    let _primary = lab.arbitrated(2);
    let mut backup = lab.arbitrated(1);
    let out = packet_out(&frame(1, 2, 3), &[(1, 3), (2, 0)]);
    let answer = send(&lab, &mut backup, out);
    assert_eq!(answer, (Some(Code::PermissionDenied), vec![]));
}

#[test]
fn a_packet_in_has_its_metadata_and_goes_to_primaries() {
    let lab = lab();
    let backup = lab.arbitrated(0);
    let client = lab.arbitrated(1);
    let to_cpu = TableEntry {
        priority: 1,
        ..lab.entry("acl", vec![ternary(1, 1)], lab.action("to_cpu", &[]))
    };
    lab.insert(EntityKind::Table(to_cpu)).expect("an entry");
    let mut painter = lab.client();
    lab.say(&mut painter, arbitration(DEVICE, "painter", id(1)))
        .expect("a role");
    for client in [&backup, &client, &painter] {
        client.told();
    }
    let payload = frame(1, 2, 3);
    lab.send(7, &payload);
    let field = |metadata_id, value: &[u8]| PacketMetadata {
        metadata_id,
        value: value.to_vec(),
    };
    let packet = PacketIn {
        payload,
        metadata: vec![field(1, &[7]), field(2, &[0])],
    };
    assert_eq!(client.told(), [StreamResponse::Packet(packet.clone())]);
    assert_eq!(painter.told(), [StreamResponse::Packet(packet)]);
    assert_eq!(backup.told(), []);
}

fn learning(lab: &Lab, max_timeout_ns: i64, max_list_size: i32, ack_timeout_ns: i64) -> EntityKind {
    EntityKind::Digest(DigestEntry {
        digest_id: lab.id("learn_t"),
        config: Some(DigestConfig {
            max_timeout_ns,
            max_list_size,
            ack_timeout_ns,
        }),
    })
}

/// The lists that a client has been told: their ids and the source addresses in them.
fn lists(client: &Client) -> Vec<(u64, Vec<u64>)> {
    let source = |data: &P4Data| match &data.data {
        Some(P4DataKind::Struct(learned)) => match &learned.members[0].data {
            Some(P4DataKind::Bitstring(bytes)) => bytes
                .iter()
                .fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let list = |update| match update {
        StreamResponse::Digest(list) => {
            Some((list.list_id, list.data.iter().map(source).collect()))
        }
        _ => None,
    };
    client.told().into_iter().filter_map(list).collect()
}

fn sources(client: &Client) -> Vec<Vec<u64>> {
    lists(client)
        .into_iter()
        .map(|(_, sources)| sources)
        .collect()
}

#[test]
fn digests_are_told_when_enabled() {
    let lab = lab();
    let client = lab.arbitrated(1);
    let send = |src| lab.send(1, &frame(0, src, 0));
    send(5);
    assert_eq!(sources(&client), Vec::<Vec<u64>>::new());
    assert_eq!(lab.modify(learning(&lab, 0, 1, 0)), Err(Code::NotFound));
    assert_eq!(lab.delete(learning(&lab, 0, 1, 0)), Err(Code::NotFound));
    assert_eq!(lab.insert(learning(&lab, 0, 1, 0)), Ok(()));
    assert_eq!(
        lab.insert(learning(&lab, 0, 1, 0)),
        Err(Code::AlreadyExists)
    );
    let asked = EntityKind::Digest(DigestEntry {
        digest_id: lab.id("learn_t"),
        config: None,
    });
    assert_eq!(lab.read(asked), Ok(vec![learning(&lab, 0, 1, 0)]));
    send(6);
    assert_eq!(sources(&client), [vec![6]]);
    assert_eq!(lab.delete(learning(&lab, 0, 1, 0)), Ok(()));
    send(7);
    assert_eq!(sources(&client), Vec::<Vec<u64>>::new());
}

#[test]
fn a_list_goes_when_it_is_full_or_its_time_is_over_and_has_nothing_twice() {
    let lab = lab();
    let client = lab.arbitrated(1);
    lab.insert(learning(&lab, 1_000, 3, 0))
        .expect("a configuration");
    let send = |src| lab.send(1, &frame(0, src, 0));
    client.told();
    for src in [1, 2, 1, 2] {
        send(src);
    }
    assert_eq!(
        sources(&client),
        Vec::<Vec<u64>>::new(),
        "two distinct ones"
    );
    send(3);
    assert_eq!(sources(&client), [vec![1, 2, 3]]);
    send(4);
    lab.pass(999);
    assert_eq!(sources(&client), Vec::<Vec<u64>>::new());
    lab.pass(1);
    assert_eq!(sources(&client), [vec![4]]);
}

#[test]
fn what_was_told_is_not_told_again_before_it_is_acknowledged_or_too_old() {
    let lab = lab();
    let mut client = lab.arbitrated(1);
    lab.insert(learning(&lab, 0, 1, 1_000))
        .expect("a configuration");
    let send = |src| lab.send(1, &frame(0, src, 0));
    client.told();
    send(1);
    let told = lists(&client);
    let (list_id, _) = told[0];
    send(1);
    assert_eq!(sources(&client), Vec::<Vec<u64>>::new(), "not acknowledged");
    let ack = DigestListAck {
        digest_id: lab.id("learn_t"),
        list_id,
    };
    lab.say(&mut client, StreamRequest::DigestAck(ack))
        .expect("an acknowledgement");
    send(1);
    assert_eq!(sources(&client), [vec![1]]);
    lab.pass(1_000);
    send(1);
    assert_eq!(sources(&client), [vec![1]], "too old");
}

#[test]
fn an_acknowledgement_of_an_unknown_digest_is_told() {
    let lab = lab();
    let mut client = lab.arbitrated(1);
    client.told();
    let ack = DigestListAck {
        digest_id: 1,
        list_id: 1,
    };
    lab.say(&mut client, StreamRequest::DigestAck(ack))
        .expect("the stream goes on");
    let told = client.told();
    let [StreamResponse::Error(error)] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(error.canonical_code, Code::InvalidArgument as i32);
    assert!(matches!(
        error.details,
        Some(StreamErrorDetails::DigestAck(_))
    ));
}

#[test]
fn messages_before_the_arbitration_or_of_other_kinds_are_told() {
    let lab = lab();
    let mut client = lab.client();
    for (request, code) in [
        (StreamRequest::Other(Any::default()), Code::Unimplemented),
        (
            StreamRequest::Packet(packet_out(b"", &[])),
            Code::FailedPrecondition,
        ),
    ] {
        lab.say(&mut client, request).expect("the stream goes on");
        let told = client.told();
        let [StreamResponse::Error(error)] = &told[..] else {
            panic!("{told:?}")
        };
        assert_eq!(error.canonical_code, code as i32);
        assert!(matches!(error.details, Some(StreamErrorDetails::Other(_))));
    }
}
