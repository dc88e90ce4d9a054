"""`p4lab switch`: our switch in the place of bmv2's simple_switch_grpc."""

from __future__ import annotations

from typing import Annotated

import typer

from p4lab.cli.errors import fail
from p4lab.cli.verbs import registered
from p4lab.p4runtime.command_line import CommandLineError, parse
from p4lab.p4runtime.switch import SwitchError, run_until_signalled

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[OPTIONS] PROGRAM [-- OPTIONS]", help="The options of simple_switch_grpc."
    ),
]


# Its options are bmv2's, not ours to parse.
@registered(context_settings={"ignore_unknown_options": True})
def switch(words: Words = None) -> None:
    """Run a P4 program on Linux interfaces, driven over P4Runtime, as simple_switch_grpc does.

    PROGRAM is P4 source, or p4c's JSON with its source in it or next to it. Needs root.

    -i PORT@INTERFACE (one for each port), --device-id N (0), --grpc-server-addr HOST:PORT
    (0.0.0.0:9559), --cpu-port N, --no-p4 (wait for a program of P4Runtime), --log-console,
    --log-file FILE, --pcap [DIR] (INTERFACE_in.pcap and INTERFACE_out.pcap), --thrift-port N (for
    simple_switch_CLI and p4-utils), --notifications-addr ADDRESS (for digests over nanomsg),
    --backend af_xdp|tpacket_v3|socket (the fastest that works; only with socket does tcpdump see
    all frames) and --bmv2-compat (do as bmv2 where P4 says otherwise).

    --arch tna: a program for Tofino, driven over BF Runtime (0.0.0.0:50052) as by bf_switchd.
    With it --ports-json FILE (as the Tofino model's -f: makes the veths that are missing),
    --int-port-loop PIPES (a mask, as the model's) and --conf FILE (bf_switchd's: which pipeline
    runs in which pipes). With --conf several programs can share the chip, each in its own pipes.
    """
    try:
        run_until_signalled(parse(words or []))
    except (CommandLineError, SwitchError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"the switch cannot run: {error}")
