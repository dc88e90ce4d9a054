"""A switch on Linux interfaces with P4Runtime in front of it, until it is told to end."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO

from p4lab import _engine
from p4lab.engine import NO_MAIN
from p4lab.hosts.interfaces import is_running
from p4lab.p4runtime.carried import compile_carried, source_in
from p4lab.p4runtime.command_line import TNA, Options
from p4lab.p4runtime.paced import hold, rates
from p4lab.p4runtime.pcap import Captures
from p4lab.p4runtime.switchd_conf import ConfError, pipelines_in
from p4lab.p4runtime.veths import PortsError, read_ports, veths

LINK_SECONDS = 0.1  # how often the interfaces' state is looked at
TRACED_PER_LOOK = 200
FRONT_PORTS = 64
"""Of each pipe of a Tofino"""


class SwitchError(Exception):
    """Why the switch cannot run, in one sentence."""


def load(program: Path, *, bmv2_compat: bool = False) -> _engine.Program:
    """The program in P4 source or in p4c's JSON, which carries it or tells where it is. Raises
    SwitchError with what is wrong with it."""
    found = source_in(_json(program)) if program.suffix == ".json" and program.is_file() else None
    if found is not None:
        name, source = found
        result = compile_carried(name, source, bmv2_compat=bmv2_compat)
    else:
        file = source_of(program)
        name, result = str(file), _engine.compile(str(file), bmv2_compat=bmv2_compat)
    if result.program is None:
        raise SwitchError(f"{name} does not run:\n{result.render() or NO_MAIN}")
    return result.program


def _json(program: Path) -> object:
    try:
        return json.loads(program.read_text())
    except (OSError, ValueError) as error:
        raise SwitchError(f"{program} is no JSON of p4c: {error}") from error


def source_of(program: Path) -> Path:
    """The P4 source of a program: itself, or for p4c's JSON the file that it records, or the one
    of its name beside it. Raises SwitchError."""
    if not program.is_file():
        raise SwitchError(f"{program}: no such file.")
    if program.suffix != ".json":
        return program
    config = _json(program)
    if not isinstance(config, dict):
        raise SwitchError(f"{program} is no JSON of p4c: it holds no object.")
    recorded = config.get("program")
    names = [Path(name) for name in (recorded, f"{program.stem}.p4") if isinstance(name, str)]
    for name in names:
        for folder in _folders(program):
            for candidate in (folder / name, folder / name.name):
                if candidate.is_file():
                    return candidate
    raise SwitchError(
        f"{program}: this switch runs P4 source, and {names[0]} is neither where the JSON says nor "
        f"beside it; give the .p4 file instead."
    )


def _folders(program: Path) -> list[Path]:
    """Where the source of a JSON may be: Makefiles put JSON in a folder of its own."""
    return [Path.cwd(), program.parent, program.parent.parent]


def run(options: Options, ended: threading.Event, ready: threading.Event | None = None) -> None:
    """Runs a switch until `ended` is set. Raises SwitchError, and OSError without root."""
    if options.ports_file is not None:
        try:
            ports = read_ports(options.ports_file)
            own = tuple((port.number, port.near) for port in ports)
            with veths(ports):
                rest = replace(options, ports=(*options.ports, *own), ports_file=None)
                return run(rest, ended, ready)
        except PortsError as error:
            raise SwitchError(str(error)) from error
    program = None
    if options.program:
        program = load(options.program, bmv2_compat=options.bmv2_compat)
    with ExitStack() as stack:
        log = stack.enter_context(_log(options))
        inbox = _engine.Inbox()
        # Faster ways than sockets pass captures by.
        backend = "socket" if options.pcap else options.backend
        try:
            forwarder = _engine.Forwarder(
                program,
                options.ports,
                inbox,
                cpu_port=options.cpu_port,
                backend=backend,
                engine=None,  # it may have to run for days
            )
        except ValueError as error:
            raise SwitchError(f"{options.program}: {error}.") from error
        stack.callback(forwarder.stop)
        if options.pcap:
            names = [interface for _, interface in options.ports]
            stack.enter_context(Captures(options.pcap, names))
        if options.arch == TNA:
            _set_up_pipes(options, forwarder)
            _join(options, forwarder)
        if options.address is not None:
            serve = _serve_bfrt if options.arch == TNA else _serve
            address, what = serve(options, options.address, forwarder, stack)
            print(f"Server listening on {address}", flush=True)  # what scripts wait for
            log(f"{what} on {address}")
        if options.thrift_port is not None:
            log(f"Thrift on port {_thrift(stack, options, forwarder, program)}")
            log("Thrift server was started")  # in bmv2's words: what scripts wait for
        for name in options.ignored:
            log(f"{name} means nothing here and is left out")
        for port, (backend_name, note) in sorted(forwarder.backends.items()):
            log(f"port {port}: {dict(options.ports)[port]} ({backend_name}{_because(note)})")
        if ready is not None:
            ready.set()
        _watch(options, forwarder, ended, log)


def _serve(
    options: Options, address: str, forwarder: _engine.Forwarder, stack: ExitStack
) -> tuple[str, str]:
    """Starts P4Runtime, which ends with the stack. Returns HOST:PORT and what is served there."""
    near = _folders(options.program) if options.program else [Path.cwd(), Path.cwd() / "build"]
    try:
        server = _engine.P4RuntimeServer(address, folders=near, bmv2_compat=options.bmv2_compat)
    except ValueError as error:
        raise SwitchError(f"--grpc-server-addr: {error}") from error
    stack.callback(server.close)
    try:
        server.add(options.device_id, forwarder)
    except ValueError as error:
        raise SwitchError(f"{options.program}: {error}") from error
    return server.address, f"P4Runtime for device {options.device_id}"


def _set_up_pipes(options: Options, forwarder: _engine.Forwarder) -> None:
    """Pipelines into their pipes, and the pipes whose ports lead back."""
    if options.conf is not None:
        try:
            program = options.program.stem if options.program else ""
            forwarder.place(pipelines_in(options.conf, program))
        except (ConfError, ValueError) as error:
            raise SwitchError(f"--conf {options.conf}: {error}.") from error
    for pipe in options.loop_pipes:
        for port in range(FRONT_PORTS):
            forwarder.set_loop(pipe << 7 | port)


def _join(options: Options, forwarder: _engine.Forwarder) -> None:
    """Programs into the pipes that the configuration has for them."""
    for file in options.beside:
        program = load(file)
        assert options.conf is not None  # the command line says so
        try:
            forwarder.join(program, pipelines_in(options.conf, file.stem))
        except ConfError as error:
            raise SwitchError(f"--conf {options.conf}: {error}.") from error
        except ValueError as error:
            raise SwitchError(f"{file}: {error}.") from error


def _serve_bfrt(
    options: Options, address: str, forwarder: _engine.Forwarder, stack: ExitStack
) -> tuple[str, str]:
    """The same for BF Runtime, whose clients call programs as their files."""
    files = [options.program, *options.beside]
    names = [file.stem for file in files if file is not None]
    try:
        server = _engine.BfrtServer(names, forwarder, address)
    except ValueError as error:
        raise SwitchError(f"--arch {TNA}: {error}.") from error
    stack.callback(server.close)
    return server.address, f"BF Runtime for {' and '.join(names)}"


def _thrift(
    stack: ExitStack,
    options: Options,
    forwarder: _engine.Forwarder,
    program: _engine.Program | None,
) -> int:
    """Serves the runtime API over Thrift, too; gives its port."""
    if find_spec("thrift") is None:
        raise SwitchError("--thrift-port needs the Python package thrift (pip install thrift).")
    from p4lab.thrift.publisher import AddressError
    from p4lab.thrift.serving import serving  # heavy: thrift, which need not be installed

    own = options.program
    config = own.read_text() if own is not None and own.suffix == ".json" else None
    served = serving(
        forwarder,
        program,
        port=options.thrift_port or 0,
        config=config,
        ports=dict(options.ports),
        device_id=options.device_id,
        notifications=options.notifications,
    )
    try:
        return stack.enter_context(served)
    except AddressError as error:
        raise SwitchError(f"--notifications-addr: {error}") from error
    except OSError as error:
        raise SwitchError(f"--thrift-port {options.thrift_port}: {error}") from error


def _because(note: str | None) -> str:
    return f"; {note}" if note else ""


class _Log:
    """Lines with the time, to the console, a file, both or nowhere."""

    def __init__(self, streams: list[TextIO]) -> None:
        self._streams = streams

    @property
    def wanted(self) -> bool:
        """Whether anybody reads it."""
        return bool(self._streams)

    def __call__(self, text: str) -> None:
        for stream in self._streams:
            stream.write(f"[{datetime.now():%H:%M:%S.%f}] {text}\n")
            stream.flush()


@contextmanager
def _log(options: Options) -> Iterator[_Log]:
    with ExitStack() as stack:
        streams: list[TextIO] = [sys.stdout] if options.log_console else []
        if options.log_file:
            path = options.log_file
            # bmv2 adds the ending itself, and scripts look for it.
            path = path if path.suffix else path.with_suffix(".txt")
            streams.append(stack.enter_context(path.open("w")))
        yield _Log(streams)


def _watch(
    options: Options, forwarder: _engine.Forwarder, ended: threading.Event, log: _Log
) -> None:
    """Tells the switch which ports are up, and the log what packets met."""
    state: dict[int, bool] = {}
    runtime, held = _engine.Runtime(forwarder), rates(options.ports)
    tracing = log.wanted
    if tracing:
        forwarder.trace(True)
    while not ended.wait(LINK_SECONDS):
        with suppress(ValueError):  # there is no program yet
            hold(runtime, held)
        for port, interface in options.ports:
            up = is_running(interface)
            if state.setdefault(port, True) != up:
                state[port] = up
                forwarder.set_port(port, up)
                log(f"port {port} is {'up' if up else 'down'}")
        if tracing:
            tracing = _tell_packets(forwarder, log)


def _tell_packets(forwarder: _engine.Forwarder, log: _Log) -> bool:
    """Whether there is more to come: a program that a client has sent has no source to show."""
    try:
        arrivals = forwarder.take_traces()
    except OSError:
        forwarder.trace(False)
        log("packets are not told: their program has come over P4Runtime")
        return False
    for arrival in arrivals[:TRACED_PER_LOOK]:
        log(f"port {arrival['port']}: {len(arrival['data'])} bytes {arrival['data'].hex()}")
        for packet in arrival["packets"]:
            for step in packet["steps"]:
                log(f"  {step['text']}")
    if len(arrivals) > TRACED_PER_LOOK:
        log(f"  and {len(arrivals) - TRACED_PER_LOOK} packets more, too many to tell")
    return True


def run_until_signalled(options: Options) -> None:
    """Runs a switch until the process is interrupted or terminated."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    run(options, ended)
