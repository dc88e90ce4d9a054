"""A driver that speaks P4Runtime: to simple_switch_grpc, to `p4lab switch`, or to another switch.

    driver = P4RuntimeDriver("127.0.0.1:9559", P4INFO, on_packet=print)
    driver.open(device_config)
    driver.write(updates)

It keeps what it has written. When the connection is lost it comes back by itself, becomes primary
again, compares what the switch holds with what it should hold and writes the difference, so that
neither side's restart leaves anything behind.
"""

from __future__ import annotations

import queue
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

import grpc
from finsy.proto import p4r, p4r_grpc, rpc_status
from google.protobuf import text_format

from p4lab.control.channel import Channel
from p4lab.control.p4info import Program
from p4lab.model.control import Count, PacketIn
from p4lab.model.entries import CloneSession, Entity, MulticastGroup, Update, diff, key

PATIENCE = 20.0  # seconds for a switch to come (back) up
CALL = 10.0  # seconds for one call
READ = 60.0  # seconds for all that a large switch holds
MOST_UPDATES = 10_000  # of one call: servers take messages of 4 MiB
FIRST_PAUSE = 0.05  # seconds before the second try; doubled up to a second

# What passes by itself: the switch is not there yet, or no more.
_PASSING = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)

# A switch that was started anew does not know its primary; arbitration settles it.
_NOT_PRIMARY = grpc.StatusCode.PERMISSION_DENIED


_Wanted = dict[tuple[object, ...], Entity | None]


class P4RuntimeError(ValueError):
    """What a switch has refused, or that it cannot be reached; the message says which."""


class P4RuntimeDriver:
    """Writes to one switch and exchanges packets with it. Use it from one thread."""

    def __init__(
        self,
        address: str,
        p4info: str,
        *,
        device_id: int = 1,
        election_id: int = 1,
        on_packet: Callable[[PacketIn], None] = lambda _packet: None,
    ) -> None:
        """`p4info` in protobuf's text format; `on_packet` is called from a thread with
        every packet that the switch sends to its controller."""
        self.address = address
        self.program = Program(p4info)
        self._device = device_id
        self._election = election_id
        self._on_packet = on_packet
        self.on_restart: Callable[[], None] = lambda: None
        """Called before a switch that has lost all gets it back: it counts from the start again"""
        self._config: bytes | None = None
        self._entries: dict[tuple[object, ...], Entity] | None = None
        self._session: _Session | None = None

    def open(self, device_config: bytes | None = None, *, patience: float = PATIENCE) -> None:
        """Becomes the switch's primary controller. With a device config the switch gets the
        program, unless it has it already. Raises P4RuntimeError."""
        self._config = device_config
        is_fresh = self._connect(patience)
        self._entries = self._read_all(but_meters=True) if is_fresh else None

    @property
    def _held(self) -> dict[tuple[object, ...], Entity]:
        """What the switch holds, read when it is first asked for."""
        if self._entries is None:
            self._entries = self._read_all()
        return self._entries

    @property
    def is_connected(self) -> bool:
        """Whether the switch still says something: packets come only then."""
        return self._session is not None and self._session.is_alive

    def restore(self, *, patience: float = PATIENCE) -> None:
        """Connects anew, and gives the switch what it had. Raises P4RuntimeError."""
        goal: _Wanted = dict(self._held)
        self._connect(patience)
        self._refill(goal, time.monotonic() + patience)

    def _refill(self, goal: _Wanted, deadline: float) -> None:
        """After a connection was lost: have these entries in the switch, and no others."""
        self._entries = self._read_all()
        if goal and not self._entries:
            self.on_restart()
        self._reach({**dict.fromkeys(self._entries), **goal}, deadline)

    def entries(self) -> frozenset[Entity]:
        """What the switch holds, read from it. Raises P4RuntimeError."""
        self._entries = self._read_all()
        return frozenset(self._entries.values())

    def write(self, updates: Sequence[Update]) -> None:
        """Applies a batch. An entry that is there already is modified, one that is gone needs no
        deletion. Raises P4RuntimeError with what the switch refused; what it took stays."""
        wanted: _Wanted = {}
        for update in updates:
            gone = update.kind == "delete"
            wanted[key(update.entity)] = None if gone else update.entity
        self._reach(wanted, time.monotonic() + PATIENCE)

    def _reach(self, wanted: _Wanted, deadline: float) -> None:
        """Have these entries in the switch, and those that are None not."""
        held = self._held
        there = {held[name] for name in wanted if name in held}
        batch = diff(there, {entity for entity in wanted.values() if entity is not None})
        try:
            for start in range(0, len(batch), MOST_UPDATES):
                self._call_write(batch[start : start + MOST_UPDATES])
        except grpc.RpcError as error:
            if error.code() not in (*_PASSING, _NOT_PRIMARY) or time.monotonic() > deadline:
                self._entries = self._read_all()
                raise P4RuntimeError(f"{self.address}: {_refusal(error, batch)}") from error
            self._connect(max(0.0, deadline - time.monotonic()))
            self._refill({**held, **wanted}, deadline)
            return
        held |= {name: one for name, one in wanted.items() if one is not None}
        for name in [name for name, one in wanted.items() if one is None]:
            held.pop(name, None)

    def _call_write(self, batch: Sequence[Update]) -> None:
        request = p4r.WriteRequest(device_id=self._device)
        request.election_id.low = self._election
        request.updates.extend(self.program.update(update) for update in batch)
        self._stub.Write(request, timeout=CALL)

    def counters(self, name: str, cells: Sequence[int]) -> dict[int, Count]:
        """What these cells of a counter hold, read from the switch. Raises P4RuntimeError, and
        ValueError if the program has no such counter or cell."""
        request = p4r.ReadRequest(device_id=self._device)
        request.entities.extend(self.program.counter_cell(name, cell) for cell in cells)
        if not cells:
            return {}
        try:
            found = [entity.counter_entry for entity in self._ask(request)]
        except P4RuntimeError as error:
            cause = error.__cause__
            if not isinstance(cause, grpc.RpcError) or cause.code() not in _PASSING:
                raise
            self.restore()
            found = [entity.counter_entry for entity in self._ask(request)]
        return {
            cell.index.index: Count(cell.data.packet_count, cell.data.byte_count) for cell in found
        }

    def packet_out(self, port: int, frame: bytes) -> None:
        """Sends a frame out of a port. It is lost where the switch cannot be reached."""
        if self._session is not None:
            message = p4r.StreamMessageRequest(packet=self.program.packet_out(port, frame))
            self._session.send(message)

    def close(self) -> None:
        """Ends the connection; the switch keeps its entries."""
        if self._session is not None:
            self._session.close()
            self._session = None

    @property
    def _stub(self) -> p4r_grpc.P4RuntimeStub:
        if self._session is None:
            raise P4RuntimeError(f"{self.address}: the connection is closed")
        return self._session.stub

    def _connect(self, patience: float) -> bool:
        """Becomes primary; gives whether the switch has just got its program."""
        deadline, pause = time.monotonic() + patience, FIRST_PAUSE
        while True:
            self.close()
            session = _Session(self.address, self._heard)
            try:
                session.become_primary(self._device, self._election)
                self._session = session
                return self._install()
            except (grpc.RpcError, P4RuntimeError) as error:
                session.close()
                self._session = None
                passing = isinstance(error, grpc.RpcError) and error.code() in _PASSING
                if not passing or time.monotonic() + pause > deadline:
                    told = _refusal(error) if isinstance(error, grpc.RpcError) else str(error)
                    raise P4RuntimeError(f"{self.address}: {told}") from error
            time.sleep(pause)
            pause = min(1.0, 2 * pause)

    def _install(self) -> bool:
        """Gives the switch its program unless it runs it already; gives whether it did."""
        if self._config is None:
            return False
        request = p4r.GetForwardingPipelineConfigRequest(
            device_id=self._device,
            response_type=p4r.GetForwardingPipelineConfigRequest.P4INFO_AND_COOKIE,
        )
        cookie = _cookie(self._config)
        try:
            there = self._stub.GetForwardingPipelineConfig(request, timeout=CALL).config
            if there.cookie.cookie == cookie and there.HasField("p4info"):
                return False
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.FAILED_PRECONDITION:  # none yet
                raise
        config = p4r.SetForwardingPipelineConfigRequest(
            device_id=self._device,
            action=p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
        )
        config.election_id.low = self._election
        config.config.p4info.CopyFrom(self.program.message)
        config.config.p4_device_config = self._config
        config.config.cookie.cookie = cookie
        self._stub.SetForwardingPipelineConfig(config, timeout=CALL)
        return True

    def _read_all(self, *, but_meters: bool = False) -> dict[tuple[object, ...], Entity]:
        """Everything that a control plane has written into the switch. Meters have a cell for each
        of their numbers, which takes seconds where they are many."""
        request = p4r.ReadRequest(device_id=self._device)
        for table in self.program.message.tables:
            if not table.is_const_table:
                request.entities.add().table_entry.table_id = table.preamble.id
        replication = (
            p4r.PacketReplicationEngineEntry(multicast_group_entry=p4r.MulticastGroupEntry()),
            p4r.PacketReplicationEngineEntry(clone_session_entry=p4r.CloneSessionEntry()),
        )
        for entry in replication:
            request.entities.add(packet_replication_engine_entry=entry)
        for meter in () if but_meters else self.program.message.meters:
            request.entities.add().meter_entry.meter_id = meter.preamble.id
        found = (self.program.read(entity) for entity in self._ask(request))
        return {key(one): one for one in found if one is not None and not _is_empty(one)}

    def _ask(self, request: p4r.ReadRequest) -> list[p4r.Entity]:
        try:
            responses = list(self._stub.Read(request, timeout=READ))
        except grpc.RpcError as error:
            raise P4RuntimeError(f"{self.address}: {_refusal(error)}") from error
        return [entity for response in responses for entity in response.entities]

    def _heard(self, message: p4r.StreamMessageResponse) -> None:
        if message.HasField("packet"):
            self._on_packet(self.program.packet_in(message.packet))


class _Session:
    """A channel and its stream of messages, read by a thread of its own."""

    def __init__(self, address: str, heard: Callable[[p4r.StreamMessageResponse], None]) -> None:
        # What a switch with a million entries answers is longer than gRPC's 4 MiB.
        self._channel = Channel(address, [("grpc.max_receive_message_length", -1)])
        self.stub = p4r_grpc.P4RuntimeStub(self._channel.grpc)
        self._out: queue.SimpleQueue[p4r.StreamMessageRequest | None] = queue.SimpleQueue()
        self._answer: queue.SimpleQueue[p4r.MasterArbitrationUpdate | grpc.RpcError]
        self._answer = queue.SimpleQueue()
        self._heard = heard
        self._stream = self.stub.StreamChannel(iter(self._messages()))
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _messages(self) -> Iterator[p4r.StreamMessageRequest]:
        while (message := self._out.get()) is not None:
            yield message

    def _listen(self) -> None:
        try:
            for message in self._stream:
                if message.HasField("arbitration"):
                    self._answer.put(message.arbitration)
                else:
                    self._heard(message)
        except grpc.RpcError as error:
            self._answer.put(error)

    @property
    def is_alive(self) -> bool:
        """Whether the switch's side of the stream is open."""
        return self._thread.is_alive()

    def send(self, message: p4r.StreamMessageRequest) -> None:
        """Puts a message on the stream."""
        self._out.put(message)

    def become_primary(self, device: int, election: int) -> None:
        """Raises grpc.RpcError, or P4RuntimeError if another controller is primary."""
        message = p4r.StreamMessageRequest()
        message.arbitration.device_id = device
        message.arbitration.election_id.low = election
        self.send(message)
        try:
            answer = self._answer.get(timeout=CALL)
        except queue.Empty:
            raise P4RuntimeError("the switch does not answer the arbitration") from None
        if isinstance(answer, grpc.RpcError):
            raise answer
        if answer.status.code != grpc.StatusCode.OK.value[0]:
            raise P4RuntimeError(
                f"another controller is primary (election id {answer.election_id.low}, "
                f"ours is {election})"
            )

    def close(self) -> None:
        """Ends stream and channel."""
        self._out.put(None)
        self._stream.cancel()
        self._channel.close()
        self._thread.join(timeout=CALL)


def p4info_of(address: str, device_id: int, *, patience: float = PATIENCE) -> str:
    """The P4Info of the program that a switch runs, in protobuf's text format; "" if it has none
    yet. Raises P4RuntimeError."""
    request = p4r.GetForwardingPipelineConfigRequest(
        device_id=device_id,
        response_type=p4r.GetForwardingPipelineConfigRequest.P4INFO_AND_COOKIE,
    )
    with closing(Channel(address)) as channel:
        try:
            found = p4r_grpc.P4RuntimeStub(channel.grpc).GetForwardingPipelineConfig(
                request, timeout=patience, wait_for_ready=True
            )
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.FAILED_PRECONDITION:
                return ""
            told = _refusal(error)
            if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
                told = f"no switch has answered there for {patience:g} s"
            raise P4RuntimeError(f"{address}: {told}") from error
    return str(text_format.MessageToString(found.config.p4info))


def _cookie(config: bytes) -> int:
    """A number that tells one program from another."""
    return zlib.crc32(config) | 1


def _is_empty(entity: Entity) -> bool:
    """A switch may list groups and sessions that nobody has filled."""
    return isinstance(entity, MulticastGroup | CloneSession) and not entity.replicas


def _refusal(error: grpc.RpcError, batch: Sequence[Update] = ()) -> str:
    """The reason, and the updates that it belongs to (P4Runtime, section 12.3)."""
    told = str(error.details() or error.code().name)
    for number, update in _failed(error, batch):
        told = f"{update.kind} {update.entity}: {number}"
        break
    return told


def _failed(error: grpc.RpcError, batch: Sequence[Update]) -> Iterator[tuple[str, Update]]:
    for name, value in error.trailing_metadata() or ():
        if name != "grpc-status-details-bin":
            continue
        status = rpc_status.Status.FromString(value)
        for detail, update in zip(status.details, batch, strict=False):
            single = p4r.Error()
            if detail.Unpack(single) and single.canonical_code:
                yield single.message or f"code {single.canonical_code}", update
