//! If this fails, a driver gets over the wire something else than what the server has said.

#[path = "../../p4-runtime-grpc/tests/client/mod.rs"]
mod client;
#[allow(dead_code)] // shared with the tests of the server, which need more of it
#[path = "../../p4-bfrt/tests/support/mod.rs"]
mod support;

use client::{run, Client};
use p4_arch::tna::{Config, Image, Switch};
use p4_bfrt::messages::*;
use p4_bfrt::server::{Job, Plant, PortCounts, Server, ALL_PIPES};
use p4_bfrt_grpc::Api;
use p4_runtime::messages::RpcStatus;
use p4_runtime::Gone;
use p4_time::Time;
use prost::Message;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use support::world::{exact, stream, update};
use tokio::sync::mpsc;
use tonic::{Code, Request, Status, Streaming};

const PROGRAM: &str = "learner";
const FORWARD: u32 = 37882547;
const HIT: u32 = 32848556;

/// A switch without ports.
struct Shelf(Mutex<Switch>);

impl Plant for Shelf {
    fn run(&self, job: Job) -> Result<(), Gone> {
        job(&mut self.0.lock().expect("the switch"));
        Ok(())
    }

    fn run_at_once(&self, job: &mut dyn FnMut(&mut Switch)) -> Result<bool, Gone> {
        job(&mut self.0.lock().expect("the switch"));
        Ok(true)
    }

    fn counts(&self) -> BTreeMap<u16, PortCounts> {
        BTreeMap::new()
    }

    fn now(&self) -> Time {
        Time::ZERO
    }
}

fn server() -> Arc<Server> {
    let (program, schema) = support::compiled();
    let image = Image::new(Arc::new(program)).expect("an image");
    let switch = Switch::new(Arc::new(image), Config::default()).expect("a switch");
    let plant = Arc::new(Shelf(Mutex::new(switch)));
    Arc::new(Server::new(plant, vec![(PROGRAM.to_string(), schema)]))
}

fn client(server: &Arc<Server>) -> Client<Api> {
    let server = Arc::clone(server);
    Client::new(Api { server }, "/bfrt_proto.BfRuntime/")
}

async fn write(
    server: &Arc<Server>,
    request: Request<WriteRequest>,
) -> Result<WriteResponse, Status> {
    client(server).call("Write", request).await
}

fn target() -> Option<TargetDevice> {
    Some(TargetDevice {
        device_id: 0,
        pipe_id: ALL_PIPES,
        direction: 0xff,
        prsr_id: 0xff,
    })
}

/// An entry for packets to `dst`, from whomever.
fn entry(dst: u8) -> TableEntry {
    let any = Ternary {
        value: vec![0; 6],
        mask: vec![0; 6],
    };
    let key = vec![
        exact(1, &[0, 0, 0, 0, 0, dst]),
        KeyField {
            field_id: 2,
            value: Some(KeyValue::Ternary(any)),
        },
        exact(65537, &[0, 0, 0, 1]),
    ];
    TableEntry {
        table_id: FORWARD,
        name: Some(EntryName::Key(TableKey { fields: key })),
        data: Some(TableData {
            action_id: HIT,
            fields: vec![stream(1, &[0, 4])],
        }),
        ..TableEntry::default()
    }
}

fn inserts(dsts: &[u8]) -> Request<WriteRequest> {
    let insert = |dst: &u8| update(UpdateType::Insert, entry(*dst));
    Request::new(WriteRequest {
        target: target(),
        updates: dsts.iter().map(insert).collect(),
        ..WriteRequest::default()
    })
}

/// What a read of these keys gives before it ends, and how it ends.
async fn read(
    server: &Arc<Server>,
    dsts: &[u8],
    listed: bool,
) -> (Vec<ReadResponse>, Option<Status>) {
    let asked = |dst: &u8| Entity {
        kind: Some(EntityKind::Entry(TableEntry {
            data: None,
            ..entry(*dst)
        })),
    };
    let mut request = Request::new(ReadRequest {
        target: target(),
        entities: dsts.iter().map(asked).collect(),
        ..ReadRequest::default()
    });
    if listed {
        let wanted = "1".parse().expect("a value");
        request.metadata_mut().insert("error_in_resp", wanted);
    }
    let mut stream = client(server).read("Read", request).await;
    let mut parts = Vec::new();
    loop {
        match stream.message().await {
            Ok(Some(part)) => parts.push(part),
            Ok(None) => return (parts, None),
            Err(status) => return (parts, Some(status)),
        }
    }
}

fn keys(parts: &[ReadResponse]) -> Vec<EntryName> {
    let entities = parts.iter().flat_map(|part| &part.entities);
    let names = entities.filter_map(|entity| match &entity.kind {
        Some(EntityKind::Entry(entry)) => entry.name.clone(),
        _ => None,
    });
    names.collect()
}

fn names(dsts: &[u8]) -> Vec<EntryName> {
    dsts.iter().filter_map(|dst| entry(*dst).name).collect()
}

#[test]
fn what_is_written_is_read_back() {
    let server = server();
    run(async {
        let done = write(&server, inserts(&[1, 2])).await;
        assert_eq!(done.expect("two entries"), WriteResponse::default());
        let (parts, end) = read(&server, &[2, 1], false).await;
        assert!(end.is_none(), "{end:?}");
        assert_eq!(keys(&parts), names(&[2, 1]));
    });
}

// A driver finds the updates that failed in the details, in their order.
#[test]
fn the_details_of_a_batch_arrive() {
    let server = server();
    run(async {
        let done = write(&server, inserts(&[1, 1, 2])).await;
        let status = done.expect_err("a duplicate");
        let details = RpcStatus::decode(status.details()).expect("details");
        let codes = details.details.iter().map(|any| {
            let error = BatchError::decode(any.value.as_slice()).expect("an error");
            Code::from_i32(error.canonical_code)
        });
        assert_eq!(
            codes.collect::<Vec<_>>(),
            [Code::Ok, Code::AlreadyExists, Code::Ok]
        );
    });
}

#[test]
fn what_was_found_comes_before_what_was_not() {
    let server = server();
    run(async {
        write(&server, inserts(&[1])).await.expect("an entry");
        let (parts, end) = read(&server, &[1, 9], false).await;
        assert_eq!(keys(&parts), names(&[1]));
        assert!(end.is_some(), "an entry that is not there is an error");
        // A client may ask for the errors as part of the answer.
        let (parts, end) = read(&server, &[1, 9], true).await;
        assert!(end.is_none(), "{end:?}");
        let codes = parts.iter().flat_map(|part| &part.status);
        let codes: Vec<_> = codes
            .map(|own| Code::from_i32(own.canonical_code))
            .collect();
        assert_eq!(codes, [Code::Ok, Code::NotFound]);
    });
}

/// A client that wants nothing but to be known by a number.
struct Channel {
    say: mpsc::Sender<StreamMessageRequest>,
    hear: Streaming<StreamMessageResponse>,
}

impl Channel {
    async fn open(server: &Arc<Server>, client_id: u32) -> Channel {
        let (say, said) = mpsc::channel(8);
        let wants = StreamRequest::Subscribe(Subscribe::default());
        let message = StreamMessageRequest {
            client_id,
            update: Some(wants),
        };
        say.send(message).await.expect("a place");
        let hear = client(server).talk("StreamChannel", said).await;
        Channel { say, hear }
    }

    /// The code of the answer to a subscription
    async fn subscribed(&mut self) -> Code {
        let answer = self.hear.message().await.expect("an open stream");
        match answer.expect("a message").update {
            Some(StreamResponse::Subscribe(answer)) => {
                Code::from_i32(answer.status.expect("a status").code)
            }
            other => panic!("not an answer: {other:?}"),
        }
    }
}

#[test]
fn a_number_is_one_clients_until_it_goes() {
    let server = server();
    run(async {
        let mut first = Channel::open(&server, 5).await;
        assert_eq!(first.subscribed().await, Code::Ok);
        let mut second = Channel::open(&server, 5).await;
        assert_eq!(second.subscribed().await, Code::AlreadyExists);
        let end = second.hear.message().await.expect_err("the end");
        assert_eq!(end.code(), Code::AlreadyExists);
        // The first one is as it was.
        assert!(!first.say.is_closed());
        drop(first);
        while Channel::open(&server, 5).await.subscribed().await != Code::Ok {
            tokio::task::yield_now().await; // until the server has seen that it is gone
        }
    });
}

#[test]
fn a_program_that_the_switch_does_not_run_is_named() {
    let server = server();
    run(async {
        let request = SetPipelineRequest {
            action: PipelineAction::Bind as i32,
            config: vec![PipelineConfig {
                p4_name: "leaner".to_string(),
                ..PipelineConfig::default()
            }],
            ..SetPipelineRequest::default()
        };
        let method = "SetForwardingPipelineConfig";
        let done: Result<SetPipelineResponse, _> =
            client(&server).call(method, Request::new(request)).await;
        let status = done.expect_err("a refusal");
        assert_eq!(status.code(), Code::NotFound);
        assert!(status.message().contains(PROGRAM), "{status}");
        assert!(status.message().contains("leaner"), "{status}");
    });
}

#[test]
fn a_method_that_does_not_exist_is_named() {
    let server = server();
    run(async {
        let done: Result<WriteResponse, _> = client(&server).call("Wirte", inserts(&[1])).await;
        let status = done.expect_err("a refusal");
        assert_eq!(status.code(), Code::Unimplemented);
        assert!(status.message().contains("Wirte"), "{status}");
    });
}

#[test]
fn a_message_that_cannot_be_read_changes_nothing() {
    let server = server();
    run(async {
        let code = client(&server).say("Write", "\0\0\0\0\x01\x0f").await;
        assert_eq!(code, Code::InvalidArgument);
        let (parts, _) = read(&server, &[1], false).await;
        assert_eq!(keys(&parts), []);
    });
}
