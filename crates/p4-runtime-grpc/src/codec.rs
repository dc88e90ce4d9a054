//! Protobuf messages on the wire.

use bytes::Buf;
use prost::Message;
use std::marker::PhantomData;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::Status;

/// Sends `Out`, receives `In`.
pub struct Protobuf<Out, In>(PhantomData<(Out, In)>);

impl<Out, In> Default for Protobuf<Out, In> {
    fn default() -> Self {
        Protobuf(PhantomData)
    }
}

impl<Out, In> Codec for Protobuf<Out, In>
where
    Out: Message + 'static,
    In: Message + Default + 'static,
{
    type Encode = Out;
    type Decode = In;
    type Encoder = Writer<Out>;
    type Decoder = Reader<In>;

    fn encoder(&mut self) -> Writer<Out> {
        Writer(PhantomData)
    }

    fn decoder(&mut self) -> Reader<In> {
        Reader(PhantomData)
    }
}

pub struct Writer<T>(PhantomData<T>);

impl<T: Message> Encoder for Writer<T> {
    type Item = T;
    type Error = Status;

    fn encode(&mut self, message: T, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        message
            .encode(into)
            .map_err(|error| Status::internal(error.to_string()))
    }
}

pub struct Reader<T>(PhantomData<T>);

impl<T: Message + Default> Decoder for Reader<T> {
    type Item = T;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<T>, Status> {
        // Bytestrings of a message that is one piece are parts of it, not copies.
        let whole = from.copy_to_bytes(from.remaining());
        let message = T::decode(whole);
        message.map(Some).map_err(|error| {
            Status::invalid_argument(format!("the message cannot be read: {error}"))
        })
    }
}
