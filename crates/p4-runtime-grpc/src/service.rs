//! The methods of `p4.v1.P4Runtime`.

use crate::call::Call;
use crate::connection::Service;
use crate::stream::serve;
use p4_runtime::messages::{ReadRequest, ReadResponse, WriteRequest, WriteResponse};
use p4_runtime::{Code, Server, Status};
use prost::Message;
use std::future::Future;
use std::sync::Arc;

/// The service for one connection.
#[derive(Clone)]
pub struct Api {
    pub server: Arc<Server>,
}

impl Service for Api {
    fn serve(self, call: Call) -> impl Future<Output = ()> + Send + 'static {
        route(self.server, call)
    }
}

async fn route(server: Arc<Server>, call: Call) {
    let path = call.path();
    match path.strip_prefix("/p4.v1.P4Runtime/").unwrap_or_default() {
        "Write" => call.unary(|message| write(server, message)).await,
        "Read" => read(server, call).await,
        "SetForwardingPipelineConfig" => {
            let method = |server: &Server, message| server.set_pipeline(&message);
            unary(server, call, method).await;
        }
        "GetForwardingPipelineConfig" => {
            let method = |server: &Server, message| server.get_pipeline(&message);
            unary(server, call, method).await;
        }
        "Capabilities" => {
            let method = |server: &Server, message| server.capabilities(&message);
            unary(server, call, method).await;
        }
        "StreamChannel" => {
            let (requests, answers) = call.split();
            serve(server, requests, answers).await;
        }
        _ => unknown(call),
    }
}

/// Answers a call of a method that there is not.
pub fn unknown(call: Call) {
    let message = format!("there is no method {}", call.path());
    call.refuse(Status::new(Code::Unimplemented, message));
}

/// Answers a call that has one message and one answer: `method`, aside.
pub async fn unary<S, In, Out>(
    server: Arc<S>,
    call: Call,
    method: fn(&S, In) -> Result<Out, Status>,
) where
    S: Send + Sync + 'static,
    In: Message + Default + 'static,
    Out: Message + 'static,
{
    let done = |message| async move { aside(move || method(&server, message)).await? };
    call.unary(done).await;
}

async fn write(server: Arc<Server>, message: WriteRequest) -> Result<WriteResponse, Status> {
    match server.write_at_once(&message) {
        Some(done) => done,
        None => aside(move || server.write(&message)).await?,
    }
}

async fn read(server: Arc<Server>, call: Call) {
    let (requests, mut answers) = call.split::<ReadRequest, ReadResponse>();
    let done = async {
        let request = requests.only().await?;
        let found = aside(move || {
            let mut parts = Vec::new();
            let done = server.read(&request, |part| parts.push(part));
            (parts, done)
        });
        let (parts, done) = found.await?;
        for part in parts {
            answers.send(&part).await?;
        }
        done
    };
    let done = done.await;
    answers.end(done);
}

/// Runs what may wait for a device in a thread where nobody else waits for it.
pub async fn aside<T: Send + 'static>(
    action: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Status> {
    let done = tokio::task::spawn_blocking(action).await;
    done.map_err(|error| {
        let message = format!("the request could not be done: {error}");
        Status::new(Code::Internal, message)
    })
}
