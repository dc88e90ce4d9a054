//! If this fails, a controller gets over the wire something else than what the server has said, or
//! one client's mistake costs another its connection.
//!
//! Calls are made by tonic's client, which nothing of ours is part of, without a socket except where the
//! socket is what is tested.

mod client;
#[allow(dead_code)] // shared with the tests of the server, which need more of it
#[path = "../../p4-runtime/tests/must/support.rs"]
mod support;

use client::{run, Client, PATIENCE};
use p4_runtime::messages::*;
use p4_runtime_grpc::{one_by_one, Api, Listener};
use prost::Message;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::Duration;
use support::{arbitration, id, lab, Lab, DEVICE};
use tokio::sync::mpsc;
use tonic::{Code, Request, Status, Streaming};

const SERVICE: &str = "/p4.v1.P4Runtime/";

fn client(lab: &Lab) -> Client<Api> {
    let server = Arc::clone(&lab.server);
    Client::new(Api { server }, SERVICE)
}

async fn write(lab: &Lab, request: WriteRequest) -> Result<WriteResponse, Status> {
    client(lab).call("Write", Request::new(request)).await
}

/// A client's stream: what it says, and what it hears.
struct Channel {
    say: mpsc::Sender<StreamMessageRequest>,
    hear: Streaming<StreamMessageResponse>,
}

impl Channel {
    async fn open(lab: &Lab) -> Channel {
        let (say, said) = mpsc::channel(8);
        let hear = client(lab).talk("StreamChannel", said).await;
        Channel { say, hear }
    }

    async fn arbitrate(&self, device: u64, election: u64) {
        let update = Some(arbitration(device, "", id(election)));
        let message = StreamMessageRequest { update };
        self.say.send(message).await.expect("an open stream");
    }

    /// The code and the primary's election id of the next message.
    async fn standing(&mut self) -> Result<(i32, Option<u64>), Status> {
        let message = self.hear.message().await?.expect("a message");
        match message.update {
            Some(StreamResponse::Arbitration(update)) => {
                let code = update.status.expect("a status").code;
                Ok((code, update.election_id.map(|id| id.low)))
            }
            other => panic!("not an arbitration: {other:?}"),
        }
    }
}

/// Inserts of entries of `l2`, by the client with this election id.
fn inserts(lab: &Lab, election: u64, dsts: &[u64]) -> WriteRequest {
    let update = |dst: &u64| Update {
        r#type: UpdateType::Insert as i32,
        entity: Some(EntityKind::Table(lab.l2(*dst, 2)).into()),
    };
    WriteRequest {
        device_id: DEVICE,
        election_id: id(election),
        updates: dsts.iter().map(update).collect(),
        ..WriteRequest::default()
    }
}

async fn stored(lab: &Lab) -> Vec<Entity> {
    read(lab, 1).await
}

/// What `l2` has, asked so often in one request.
async fn read(lab: &Lab, times: usize) -> Vec<Entity> {
    let table = EntityKind::Table(TableEntry {
        table_id: lab.id("l2"),
        ..TableEntry::default()
    });
    let request = ReadRequest {
        device_id: DEVICE,
        entities: vec![table.into(); times],
        ..ReadRequest::default()
    };
    let mut parts: Streaming<ReadResponse> = client(lab).read("Read", Request::new(request)).await;
    let mut found = Vec::new();
    while let Some(part) = parts.message().await.expect("a part") {
        found.extend(part.entities);
    }
    found
}

#[test]
fn the_primary_writes_and_reads_it_back() {
    let lab = lab();
    run(async {
        let mut primary = Channel::open(&lab).await;
        primary.arbitrate(DEVICE, 1).await;
        assert_eq!(primary.standing().await.expect("it"), (0, Some(1)));
        let request = inserts(&lab, 1, &[5, 6]);
        write(&lab, request.clone()).await.expect("two entries");
        let sent = request.updates.into_iter().filter_map(|own| own.entity);
        assert_eq!(stored(&lab).await, sent.collect::<Vec<_>>());
    });
}

#[test]
fn nobody_else_writes() {
    let lab = lab();
    run(async {
        let mut primary = Channel::open(&lab).await;
        primary.arbitrate(DEVICE, 2).await;
        primary.standing().await.expect("it");
        let refused = write(&lab, inserts(&lab, 1, &[5])).await;
        assert_eq!(
            refused.expect_err("a refusal").code(),
            Code::PermissionDenied
        );
        assert_eq!(stored(&lab).await, []);
    });
}

// Section 12.3: a controller finds the updates that failed in the details, nowhere else.
#[test]
fn the_details_of_a_batch_arrive() {
    let lab = lab();
    run(async {
        let mut primary = Channel::open(&lab).await;
        primary.arbitrate(DEVICE, 1).await;
        primary.standing().await.expect("it");
        let request = inserts(&lab, 1, &[5, 5, 6]);
        let refused = write(&lab, request).await;
        let status = refused.expect_err("a duplicate");
        assert_eq!(status.code(), Code::Unknown);
        let details = RpcStatus::decode(status.details()).expect("details");
        let codes = details.details.iter().map(|any| {
            let error = Error::decode(any.value.as_slice()).expect("an error");
            Code::from_i32(error.canonical_code)
        });
        assert_eq!(
            codes.collect::<Vec<_>>(),
            [Code::Ok, Code::AlreadyExists, Code::Ok]
        );
        assert_eq!(stored(&lab).await.len(), 2);
    });
}

#[test]
fn who_comes_after_a_primary_that_leaves_is_told() {
    let lab = lab();
    run(async {
        let mut first = Channel::open(&lab).await;
        first.arbitrate(DEVICE, 2).await;
        assert_eq!(first.standing().await.expect("it"), (0, Some(2)));
        let mut second = Channel::open(&lab).await;
        second.arbitrate(DEVICE, 1).await;
        let backup = Code::AlreadyExists as i32;
        assert_eq!(second.standing().await.expect("it"), (backup, Some(2)));
        drop(first); // as when its process dies
        let nobody = Code::NotFound as i32;
        assert_eq!(second.standing().await.expect("it").0, nobody);
        second.arbitrate(DEVICE, 3).await;
        assert_eq!(second.standing().await.expect("it"), (0, Some(3)));
    });
}

#[test]
fn a_stream_to_no_device_ends_with_the_reason() {
    let lab = lab();
    run(async {
        let mut lost = Channel::open(&lab).await;
        lost.arbitrate(DEVICE + 1, 1).await;
        let status = lost.standing().await.expect_err("a refusal");
        assert_eq!(status.code(), Code::NotFound);
    });
}

#[test]
fn a_mistake_on_a_stream_is_answered_and_the_stream_stays() {
    let lab = lab();
    run(async {
        let mut primary = Channel::open(&lab).await;
        primary.arbitrate(DEVICE, 1).await;
        primary.standing().await.expect("it");
        let update = Some(StreamRequest::Packet(PacketOut {
            payload: vec![0; 14],
            ..PacketOut::default()
        }));
        let message = StreamMessageRequest { update };
        primary.say.send(message).await.expect("an open stream");
        let answer = primary.hear.message().await.expect("an answer");
        let update = answer.expect("a message").update;
        assert!(
            matches!(update, Some(StreamResponse::Error(_))),
            "{update:?}"
        );
        primary.arbitrate(DEVICE, 1).await;
        assert_eq!(primary.standing().await.expect("it"), (0, Some(1)));
    });
}

#[test]
fn a_method_that_does_not_exist_is_named() {
    let lab = lab();
    run(async {
        let request = Request::new(WriteRequest::default());
        let refused: Result<WriteResponse, _> = client(&lab).call("Wirte%77", request).await;
        let status = refused.expect_err("a refusal");
        assert_eq!(status.code(), Code::Unimplemented);
        assert!(status.message().contains("Wirte%77"), "{status}");
    });
}

#[test]
fn a_message_that_cannot_be_read_is_refused() {
    let lab = lab();
    run(async {
        // A byte that begins a field of a kind that does not exist, behind the five of gRPC's prefix
        let code = client(&lab).say("Write", "\0\0\0\0\x01\x0f").await;
        assert_eq!(code, Code::InvalidArgument);
    });
}

#[test]
fn what_is_no_message_of_grpc_is_refused() {
    let lab = lab();
    run(async {
        let client = client(&lab);
        let compressed = client.say("Write", "\x01\0\0\0\x01\0").await;
        assert_eq!(compressed, Code::Unimplemented);
        let endless = client.say("Write", "\0\x7f\x7f\x7f\x7f").await;
        assert_eq!(endless, Code::ResourceExhausted);
        let cut = client.say("Write", "\0\0\0\0\x02\0").await;
        assert_eq!(cut, Code::Internal);
    });
}

// HTTP/2 cuts them into frames, of which no more are sent than fit into a window: the server's is of
// 1 MB, the client's of 64 kB.
#[test]
fn messages_longer_than_a_window_arrive_whole() {
    let lab = lab();
    run(async {
        let mut primary = Channel::open(&lab).await;
        primary.arbitrate(DEVICE, 1).await;
        primary.standing().await.expect("it");
        let mut request = inserts(&lab, 1, &[5; 30_001]);
        for update in request.updates.iter_mut().skip(1).step_by(2) {
            update.r#type = UpdateType::Delete as i32;
        }
        let length = request.encoded_len();
        assert!(length > 1 << 20, "{length}");
        write(&lab, request).await.expect("each in its turn");
        let found = read(&lab, 3_000).await;
        assert_eq!(found.len(), 3_000);
        assert_eq!(found.iter().filter(|own| **own != found[0]).count(), 0);
    });
}

fn listen(lab: &Lab) -> (Listener, Arc<AtomicU32>) {
    let ticks = Arc::new(AtomicU32::new(0));
    let service = Api {
        server: Arc::clone(&lab.server),
    };
    let any: SocketAddr = ([127, 0, 0, 1], 0).into();
    let counted = Arc::clone(&ticks);
    let tick = move || {
        counted.fetch_add(1, Ordering::SeqCst);
    };
    (
        Listener::start(service, any, tick).expect("a socket"),
        ticks,
    )
}

fn connect(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).expect("a connection");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    socket
}

#[test]
fn garbage_on_the_socket_costs_nobody_else_anything() {
    let lab = lab();
    let (listener, _) = listen(&lab);
    let mut garbage = connect(listener.address());
    let _silent = connect(listener.address());
    garbage
        .write_all(&[0xa5; 4096])
        .expect("somebody who listens");
    // It is closed for the one who sent it: after what HTTP has to say, nothing comes.
    let mut rest = Vec::new();
    let _ = garbage.read_to_end(&mut rest); // a reset is an end, too
    let calls = vec![CapabilitiesRequest::default().encode_to_vec(); 20];
    one_by_one(
        listener.address(),
        &format!("{SERVICE}Capabilities"),
        &calls,
    )
    .expect("answers");
}

// What nobody asks for, digests and idle entries, is looked for as long as the server lives.
#[test]
fn a_server_ticks_until_it_ends_and_takes_its_connections_along() {
    let lab = lab();
    let (listener, ticks) = listen(&lab);
    let mut socket = connect(listener.address());
    let seen = ticks.load(Ordering::SeqCst);
    while ticks.load(Ordering::SeqCst) < seen + 2 {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(listener);
    let mut rest = Vec::new();
    let ended = socket.read_to_end(&mut rest);
    let waited = |error: &std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
    assert!(!ended.as_ref().is_err_and(waited), "{ended:?}");
}
