"""The command line of simple_switch_grpc, as far as this switch can honour it.

bmv2 takes options, one program, and after `--` more options; scripts write all of it in any order,
with `=` or a blank before a value. So the words are read one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from p4lab.command import command

DEFAULT_ADDRESS = "0.0.0.0:9559"
BFRT_ADDRESS = "0.0.0.0:50052"
"""Where bf_switchd listens, and so a switch of TNA"""
V1MODEL, TNA = "v1model", "tna"
BACKENDS = ("af_xdp", "tpacket_v3", "socket")
DROP_PORT = 511  # of v1model
MAX_PORT = DROP_PORT - 1
PIPES = 4
"""Of a Tofino"""
QUEUES = 8
"""Of every port, always"""

# Options that say nothing here: name and whether a value follows.
_IGNORED = {
    "--nanolog": True,
    "-L": True,
    "--log-level": True,
    "--log-flush": False,
    "--max-port-count": True,
    "--dump-packet-data": True,
    "--disable-swap": False,
    "--enable-swap": False,
    "--log-file-max-size": True,
    "--log-file-max-files": True,
    "--max-mc-groups": True,
    "--max-l1-entries": True,
    "--max-l2-entries": True,
}
# Options that a script relies on, and what there is instead.
_REFUSED = {
    "--debugger": f"this switch has no debugger port; `{command()} trace` follows packets",
    "--debugger-addr": f"this switch has no debugger port; `{command()} trace` follows packets",
    "--use-files": f"this switch takes no packets from files; `{command()} stf` sends packets in",
    "--packet-in": "this switch takes packets from interfaces only; use -i PORT@INTERFACE",
    "--restore-state": "this switch restores no state from files; write it over P4Runtime",
    "--grpc-server-ssl": "this server speaks plain gRPC; put it behind a tunnel instead",
    "--load-modules": "this switch loads no extern modules",
}


class CommandLineError(Exception):
    """What is wrong with the command line, in one sentence."""


@dataclass(frozen=True)
class Options:
    """What a switch is started with. `program` is P4 source or p4c's JSON; None: wait for one."""

    program: Path | None = None
    beside: tuple[Path, ...] = ()
    """With TNA: further programs, each for pipes of its own"""
    ports: tuple[tuple[int, str], ...] = ()
    device_id: int = 0
    address: str | None = DEFAULT_ADDRESS
    """Of P4Runtime, or with TNA of BF Runtime; None: no server"""
    arch: str = V1MODEL
    cpu_port: int | None = None
    log_file: Path | None = None
    log_console: bool = False
    pcap: Path | None = None
    backend: str | None = None
    """What passes frames to and from the interfaces; None: the fastest that works"""
    bmv2_compat: bool = False
    thrift_port: int | None = None
    ports_file: Path | None = None
    """A ports.json, as the Tofino model takes it: its ports, whose veths are made"""
    conf: Path | None = None
    """As bf_switchd takes it: in which pipes pipelines run"""
    loop_pipes: tuple[int, ...] = ()
    """Pipes of which all front ports lead back to themselves"""
    notifications: str | None = None
    """Where digests are told to clients of Thrift; None: where bmv2 does"""
    ignored: tuple[str, ...] = ()


def parse(words: Sequence[str]) -> Options:
    """Reads the words behind `p4lab switch`; raises CommandLineError."""
    options = Options()
    waits = False
    rest = iter(_Words(words))
    for word in rest:
        name, given = _split(word)
        if name in _REFUSED:
            raise CommandLineError(f"{name} is not there: {_REFUSED[name]}.")
        if name in _IGNORED:
            if _IGNORED[name] and given is None:
                rest.value(name)
            options = replace(options, ignored=(*options.ignored, name))
        elif name in ("-i", "--interface"):
            options = _with_port(options, given or rest.value(name))
        elif name == "--device-id":
            options = replace(options, device_id=_number(name, given or rest.value(name), 2**64))
        elif name == "--grpc-server-addr":
            options = replace(options, address=given or rest.value(name))
        elif name == "--cpu-port":
            port = _number(name, given or rest.value(name), MAX_PORT + 1)
            options = replace(options, cpu_port=port or None)
        elif name == "--drop-port":
            _number(name, given or rest.value(name), DROP_PORT + 1, DROP_PORT)
        elif name == "--priority-queues":
            if _number(name, given or rest.value(name), QUEUES + 1, 1) > 1:
                options = replace(options, ignored=(*options.ignored, name))
        elif name == "--arch":
            options = _with_arch(options, given or rest.value(name))
        elif name == "--ports-json":
            options = replace(options, ports_file=Path(given or rest.value(name)))
        elif name == "--conf":
            options = replace(options, conf=Path(given or rest.value(name)))
        elif name == "--int-port-loop":
            pipes = _number(name, given or rest.value(name), 1 << PIPES)
            looped = tuple(pipe for pipe in range(PIPES) if pipes >> pipe & 1)
            options = replace(options, loop_pipes=looped)
        elif name == "--backend":
            options = _with_backend(options, given or rest.value(name))
        elif name == "--bmv2-compat":
            options = replace(options, bmv2_compat=True)
        elif name == "--log-file":
            options = replace(options, log_file=Path(given or rest.value(name)))
        elif name == "--log-console":
            options = replace(options, log_console=True)
        elif name == "--pcap":
            options = replace(options, pcap=Path(given or rest.folder() or "."))
        elif name == "--thrift-port":
            port = _number(name, given or rest.value(name), 2**16)
            options = replace(options, thrift_port=port)
        elif name == "--notifications-addr":
            options = replace(options, notifications=given or rest.value(name))
        elif name == "--no-p4":
            waits = True
        elif name.startswith("-") and name != "-":
            raise CommandLineError(
                f"there is no option {name}; `{command()} switch --help` lists them."
            )
        elif options.program is not None:
            options = replace(options, beside=(*options.beside, Path(word)))
        else:
            options = replace(options, program=Path(word))
    _check_arch(options)
    if options.arch == TNA and options.address == DEFAULT_ADDRESS:
        options = replace(options, address=BFRT_ADDRESS)
    if waits and options.program is not None:
        raise CommandLineError(f"--no-p4 waits for a program; leave out {options.program}.")
    if not waits and options.program is None:
        raise CommandLineError("name a program, or wait for one of P4Runtime with --no-p4.")
    return options


def _with_arch(options: Options, arch: str) -> Options:
    if arch not in (V1MODEL, TNA):
        raise CommandLineError(f"--arch is {V1MODEL} or {TNA}, not {arch}.")
    return replace(options, arch=arch)


def _with_backend(options: Options, backend: str) -> Options:
    if backend not in BACKENDS:
        raise CommandLineError(f"--backend is {', '.join(BACKENDS)}, not {backend}.")
    return replace(options, backend=backend)


def _check_arch(options: Options) -> None:
    """What bmv2 has and a Tofino has not, and the other way round."""
    if options.arch != TNA:
        if options.beside:
            both = f"{options.program} or {options.beside[0]}"
            raise CommandLineError(f"one program is enough: {both}.")
        for name, of_tofino in (
            ("--ports-json", options.ports_file),
            ("--conf", options.conf),
            ("--int-port-loop", options.loop_pipes),
        ):
            if of_tofino:
                raise CommandLineError(f"{name} is for a Tofino; say --arch {TNA}, too.")
        return
    for name, given in (
        ("--thrift-port", options.thrift_port is not None),
        ("--bmv2-compat", options.bmv2_compat),
    ):
        if given:
            raise CommandLineError(f"{name} is bmv2's; with --arch {TNA} leave it out.")
    if options.program is None:
        raise CommandLineError(f"--arch {TNA} needs a program; --no-p4 is P4Runtime's.")
    names = [file.stem for file in (options.program, *options.beside)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise CommandLineError(f"two programs are called {twice}; clients tell them by that.")
    if options.beside and options.conf is None:
        raise CommandLineError("several programs need --conf, which says in which pipes each runs.")


class _Words(Iterator[str]):
    """The words, one after the other."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = [word for word in words if word != "--"]
        self._at = 0

    def __iter__(self) -> _Words:
        return self

    def __next__(self) -> str:
        if self._at == len(self._words):
            raise StopIteration
        self._at += 1
        return self._words[self._at - 1]

    def value(self, option: str) -> str:
        """The value of an option that needs one."""
        word = next(self, None)
        if word is None:
            raise CommandLineError(f"{option} needs a value.")
        return word

    def folder(self) -> str | None:
        """The next word, unless it is an option or a program."""
        if self._at == len(self._words):
            return None
        word = self._words[self._at]
        if word.startswith("-") or word.endswith((".json", ".p4")):
            return None
        return next(self)


def _split(word: str) -> tuple[str, str | None]:
    """An option and its value, if one word has both."""
    if word.startswith("--") and "=" in word:
        name, _, value = word.partition("=")
        return name, value
    if word.startswith("-i") and not word.startswith("--") and len(word) > 2:
        return "-i", word[2:].removeprefix("=")
    return word, None


def _number(option: str, text: str, below: int, least: int = 0) -> int:
    try:
        number = int(text, 0)
    except ValueError:
        number = -1
    if not least <= number < below:
        wanted = f"a number from {least} to {below - 1}" if least < below - 1 else str(least)
        raise CommandLineError(f"{option} {text}: {wanted} is needed.")
    return number


def _with_port(options: Options, text: str) -> Options:
    number, at, interface = text.partition("@")
    if not at or not interface:
        raise CommandLineError(f"-i {text}: PORT@INTERFACE is needed, such as 1@s1-eth1.")
    port = _number("-i", number, MAX_PORT + 1)
    return replace(options, ports=(*options.ports, (port, interface)))
