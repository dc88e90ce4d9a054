"""`simple_switch_CLI`: lines of commands for a switch that speaks the runtime API over Thrift.

The commands, and what they print, are those of bmv2's command line as far as courses use them.
"""

from __future__ import annotations

import cmd
import json
import sys
from collections.abc import Sequence
from typing import Any

from p4lab.shims import written
from p4lab.shims.remote import Known, RefusedError, Remote, RemoteError, Table, found
from p4lab.thrift import interface
from p4lab.thrift.interface import TYPES

FAILED = 1
PORT = 9090
WITH_PRIORITY = ("ternary", "range", "optional")
# Of which kind a call's refusals are.
_REFUSALS = {
    "bm_mt": ("table", interface.TableCode),
    "bm_counter": ("counter", interface.CounterCode),
    "bm_meter": ("meter", interface.MeterCode),
    "bm_register": ("register", interface.RegisterCode),
    "bm_mc": ("PRE", interface.ReplicationCode),
    "mirroring": ("mirroring", interface.MirrorCode),
}
HELP = """simple_switch_CLI: p4lab's, in the place of bmv2's
  --thrift-port PORT (9090), --thrift-ip HOST (localhost); commands come from standard input
"""


def main(words: Sequence[str]) -> int:
    """Carries out the lines of standard input; gives the exit status."""
    host, port = "localhost", PORT
    rest = iter(words)
    for word in rest:
        name, equals, given = word.partition("=")
        if name in ("-h", "--help"):
            print(HELP, end="")
            return 0
        value = given if equals else next(rest, "")
        if name == "--thrift-port" and value.isdigit():
            port = int(value)
        elif name == "--thrift-ip" and value:
            host = value
        elif name not in ("--json", "--pre"):  # the switch has its program's JSON itself
            print(f"simple_switch_CLI: {word} {value} is not understood.", file=sys.stderr)
            return FAILED
    try:
        with Remote(host, port) as remote:
            print("Obtaining JSON from switch...")
            console = Console(remote, Known.of(remote("bm_get_config")))
            print("Done")
            console.cmdloop()
    except RemoteError as error:
        print(f"simple_switch_CLI: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print()
    return 0


class UnknownError(Exception):
    """A line that begins with no command."""


class Console(cmd.Cmd):
    """One command a line, until the input ends."""

    prompt = "RuntimeCmd: "
    intro = "Control utility for runtime P4 table manipulation"

    def __init__(self, remote: Remote, known: Known) -> None:
        super().__init__()
        self._remote = remote
        self._known = known
        self._last = ""

    def onecmd(self, line: str) -> bool:
        """Carries out a line; what is wrong with it is printed, and the next may follow."""
        ended, wrong = self.attempt(line)
        if wrong is not None:
            print(wrong)
        return ended

    def attempt(self, line: str) -> tuple[bool, str | None]:
        """Carries out a line; gives whether it is the last, and what is wrong with it."""
        try:
            return bool(super().onecmd(line)), None
        except RefusedError as error:
            what, codes = next(
                (own for start, own in _REFUSALS.items() if self._last.startswith(start)),
                ("", None),
            )
            name = codes(error.code).name if codes else error.code
            return False, f"Invalid {what} operation ({name})"
        except UnknownError as error:
            return False, f"*** Unknown syntax: {error}"
        except RemoteError as error:
            return False, f"Error: {error}"
        except (ValueError, IndexError):
            verb = line.split()[0]
            return False, f"Error: {verb} is not written so: see `help {verb}`"

    def emptyline(self) -> bool:
        """An empty line does nothing, not the last command again."""
        return False

    def default(self, line: str) -> None:
        """There is no such command."""
        raise UnknownError(line)

    def do_EOF(self, _: str) -> bool:
        """End."""
        print()
        return True

    do_exit = do_EOF

    def _call(self, call: str, *values: Any) -> Any:
        self._last = call
        return self._remote(call, *values)

    def _table(self, name: str) -> Table:
        return self._known.tables[found("table", name, self._known.tables)]

    def _action(self, table: Table, name: str) -> str:
        full = found("action", name, self._known.actions)
        if full not in table.actions:
            raise RemoteError(f"Table {table.name} has no action {name}")
        return full

    # Tables

    def do_show_tables(self, _: str) -> None:
        """show_tables"""
        for table in self._known.tables.values():
            self._show(table)

    def do_show_actions(self, _: str) -> None:
        """show_actions"""
        for name in sorted(self._known.actions):
            self._show_action(name)

    def do_table_info(self, line: str) -> None:
        """table_info TABLE"""
        table = self._table(line.strip())
        self._show(table)
        print("*" * 80)
        for name in sorted(table.actions):
            self._show_action(name)

    def _show(self, table: Table) -> None:
        keys = ",\t".join(f"{key.field}({key.kind}, {key.width})" for key in table.keys)
        print(f"{table.name:30} [implementation={table.profile}, mk={keys}]")

    def _show_action(self, name: str) -> None:
        params = ",\t".join(f"{param}({width})" for param, width in self._known.actions[name])
        print(f"{name:30} [{params}]")

    def do_table_add(self, line: str) -> None:
        """table_add TABLE ACTION KEY... => PARAMETER... [PRIORITY]"""
        words = line.split()
        arrow = words.index("=>")
        table = self._table(words[0])
        action = self._action(table, words[1])
        params = words[arrow + 1 :]
        priority = 0
        if any(key.kind in WITH_PRIORITY for key in table.keys):
            if len(params) != len(self._known.actions[action]) + 1:
                raise RemoteError(
                    "Table is ternary, but could not extract a valid priority from args"
                )
            priority = int(params.pop(), 0)
        keys = written.matches(words[2:arrow], table.keys, words[0])
        data = written.values(params, self._known.actions[action], words[1])
        told = ["-".join(written.shown(key, ":")) for key in keys]
        print(f"Adding entry to {table.kind} match table {words[0]}")
        print("{:20} {}".format("match key:", "\t".join(told)))
        self._tell(words[1], data)
        options = TYPES["Options"](priority)
        handle = self._call("bm_mt_add_entry", 0, table.name, keys, action, data, options)
        print(f"Entry has been added with handle {handle}")

    def _tell(self, action: str, data: Sequence[bytes]) -> None:
        print("{:20} {}".format("action:", action))
        print("{:20} {}".format("runtime data:", "\t".join(map(written.colons, data))))

    def do_table_set_default(self, line: str) -> None:
        """table_set_default TABLE ACTION PARAMETER..."""
        name, shown, *params = line.replace("=>", " ").split()
        table = self._table(name)
        action = self._action(table, shown)
        data = written.values(params, self._known.actions[action], shown)
        print(f"Setting default action of {name}")
        self._tell(shown, data)
        self._call("bm_mt_set_default_action", 0, table.name, action, data)

    def do_table_reset_default(self, line: str) -> None:
        """table_reset_default TABLE"""
        self._call("bm_mt_reset_default_entry", 0, self._table(line.strip()).name)

    def do_table_modify(self, line: str) -> None:
        """table_modify TABLE ACTION HANDLE [=>] PARAMETER..."""
        name, shown, handle, *params = line.replace("=>", " ").split()
        table = self._table(name)
        action = self._action(table, shown)
        data = written.values(params, self._known.actions[action], shown)
        print(f"Modifying entry {int(handle)} for {table.kind} match table {name}")
        self._call("bm_mt_modify_entry", 0, table.name, int(handle), action, data)

    def do_table_delete(self, line: str) -> None:
        """table_delete TABLE HANDLE"""
        name, handle = line.split()
        print(f"Deleting entry {int(handle)} from {name}")
        self._call("bm_mt_delete_entry", 0, self._table(name).name, int(handle))

    def do_table_clear(self, line: str) -> None:
        """table_clear TABLE"""
        self._call("bm_mt_clear_entries", 0, self._table(line.strip()).name, False)

    def do_table_num_entries(self, line: str) -> None:
        """table_num_entries TABLE"""
        print(self._call("bm_mt_get_num_entries", 0, self._table(line.strip()).name))

    def do_table_dump(self, line: str) -> None:
        """table_dump TABLE"""
        table = self._table(line.strip())
        print("==========\nTABLE ENTRIES")
        for entry in self._call("bm_mt_get_entries", 0, table.name):
            print(f"**********\nDumping entry {entry.handle:#x}\nMatch key:")
            for key, match in zip(table.keys, entry.key, strict=True):
                kind, text = written.shown(match)
                print(f"* {key.field:20}: {kind:10}{text}")
            if any(key.kind in WITH_PRIORITY for key in table.keys):
                print(f"Priority: {entry.options.priority}")
            print(f"Action entry: {_target(entry.target)}")
        print("==========\nDumping default entry")
        print(f"Action entry: {_target(self._call('bm_mt_get_default_entry', 0, table.name))}")
        print("==========")

    # Registers, counters, meters

    def _array(self, kind: str, name: str) -> str:
        return found(kind, name, self._known.arrays[kind])

    def do_register_read(self, line: str) -> None:
        """register_read REGISTER [INDEX]"""
        name, *index = line.split()
        full = self._array("register", name)
        if index:
            print(f"{name}[{index[0]}]=", self._call("bm_register_read", 0, full, int(index[0])))
            return
        print("register index omitted, reading entire array")
        print(f"{name}=", ", ".join(map(str, self._call("bm_register_read_all", 0, full))))

    def do_register_write(self, line: str) -> None:
        """register_write REGISTER INDEX VALUE"""
        name, index, value = line.split()
        full = self._array("register", name)
        self._call("bm_register_write", 0, full, int(index), int(value, 0))

    def do_register_reset(self, line: str) -> None:
        """register_reset REGISTER"""
        self._call("bm_register_reset", 0, self._array("register", line.strip()))

    def do_counter_read(self, line: str) -> None:
        """counter_read COUNTER INDEX"""
        name, index = line.split()
        full = self._array("counter", name)
        count = self._call("bm_counter_read", 0, full, int(index))
        print(f"{name}[{int(index)}]= ({count.bytes} bytes, {count.packets} packets)")

    def do_counter_reset(self, line: str) -> None:
        """counter_reset COUNTER"""
        self._call("bm_counter_reset_all", 0, self._array("counter", line.strip()))

    def do_meter_set_rates(self, line: str) -> None:
        """meter_set_rates METER INDEX RATE:BURST RATE:BURST (a microsecond's units)"""
        name, index, *rates = line.split()
        full = self._array("meter", name)
        self._call("bm_meter_set_rates", 0, full, int(index), list(map(_rate, rates)))

    def do_meter_array_set_rates(self, line: str) -> None:
        """meter_array_set_rates METER RATE:BURST RATE:BURST"""
        name, *rates = line.split()
        full = self._array("meter", name)
        self._call("bm_meter_array_set_rates", 0, full, list(map(_rate, rates)))

    def do_meter_get_rates(self, line: str) -> None:
        """meter_get_rates METER INDEX"""
        name, index = line.split()
        rates = self._call("bm_meter_get_rates", 0, self._array("meter", name), int(index))
        for number, rate in enumerate(rates):
            told = f"info rate = {rate.per_microsecond}, burst size = {rate.burst}"
            print(f"{number}: {told}")

    # Multicast, mirroring, queues

    def do_mc_mgrp_create(self, line: str) -> None:
        """mc_mgrp_create GROUP"""
        print(f"Creating multicast group {int(line)}")
        self._call("bm_mc_mgrp_create", 0, int(line))

    def do_mc_mgrp_destroy(self, line: str) -> None:
        """mc_mgrp_destroy GROUP"""
        print(f"Destroying multicast group {int(line)}")
        self._call("bm_mc_mgrp_destroy", 0, int(line))

    def do_mc_node_create(self, line: str) -> None:
        """mc_node_create RID PORT..."""
        rid, *ports = map(int, line.split())
        port_map = _bits(ports)
        print(f"Creating node with rid {rid} , port map {port_map} and lag map ")
        handle = self._call("bm_mc_node_create", 0, rid, port_map, "")
        print(f"node was created with handle {handle}")

    def do_mc_node_update(self, line: str) -> None:
        """mc_node_update NODE PORT..."""
        node, *ports = map(int, line.split())
        self._call("bm_mc_node_update", 0, node, _bits(ports), "")

    def do_mc_node_associate(self, line: str) -> None:
        """mc_node_associate GROUP NODE"""
        group, node = map(int, line.split())
        print(f"Associating node {node} to multicast group {group}")
        self._call("bm_mc_node_associate", 0, group, node)

    def do_mc_node_dissociate(self, line: str) -> None:
        """mc_node_dissociate GROUP NODE"""
        group, node = map(int, line.split())
        print(f"Dissociating node {node} from multicast group {group}")
        self._call("bm_mc_node_dissociate", 0, group, node)

    def do_mc_node_destroy(self, line: str) -> None:
        """mc_node_destroy NODE"""
        print(f"Destroying node {int(line)}")
        self._call("bm_mc_node_destroy", 0, int(line))

    def do_mc_dump(self, _: str) -> None:
        """mc_dump"""
        entries = json.loads(self._call("bm_mc_get_entries", 0))
        nodes = {node["handle"]: node for node in entries["l1_handles"]}
        ports = {node["handle"]: node for node in entries["l2_handles"]}
        print("==========\nMC ENTRIES")
        for group in entries["mgrps"]:
            print(f"**********\nmgrp({group['id']})")
            for handle in group["l1_handles"]:
                node = nodes[handle]
                leaf = ports[node["l2_handle"]]
                where = f"(ports={leaf['ports']}, lags={leaf['lags']})"
                print(f"  -> (L1h={handle}, rid={node['rid']}) -> {where}")
        print("==========\nLAGS\n==========")

    def do_mirroring_add(self, line: str) -> None:
        """mirroring_add SESSION PORT"""
        session, port = map(int, line.split())
        self._call("mirroring_session_add", session, TYPES["Session"](port=port))

    def do_mirroring_add_mc(self, line: str) -> None:
        """mirroring_add_mc SESSION GROUP"""
        session, group = map(int, line.split())
        self._call("mirroring_session_add", session, TYPES["Session"](group=group))

    def do_mirroring_get(self, line: str) -> None:
        """mirroring_get SESSION"""
        to = self._call("mirroring_session_get", int(line))
        print(f"MirroringSessionConfig(port={to.port}, mgid={to.group})")

    def do_mirroring_delete(self, line: str) -> None:
        """mirroring_delete SESSION"""
        self._call("mirroring_session_delete", int(line))

    def do_set_queue_depth(self, line: str) -> None:
        """set_queue_depth PACKETS [PORT] [PRIORITY]"""
        packets, *where = map(int, line.split())
        calls = ("set_all_egress_queue_depths", "set_egress_queue_depth")
        self._queue((*calls, "set_egress_priority_queue_depth"), where, packets)

    def do_set_queue_rate(self, line: str) -> None:
        """set_queue_rate PACKETS_PER_SECOND [PORT] [PRIORITY]"""
        rate, *where = map(int, line.split())
        calls = ("set_all_egress_queue_rates", "set_egress_queue_rate")
        self._queue((*calls, "set_egress_priority_queue_rate"), where, rate)

    def _queue(self, calls: Sequence[str], where: Sequence[int], value: int) -> None:
        self._call(calls[len(where)], *where, value)

    # The switch

    def do_show_ports(self, _: str) -> None:
        """show_ports"""
        print(f"{'port #':^10}{'iface name':^20}{'status':^10}{'extra info'}")
        print("=" * 50)
        for port in self._call("bm_dev_mgr_show_ports"):
            state = "UP" if port.is_up else "DOWN"
            print(f"{port.number:^10}{port.interface:^20}{state:^10}")

    def do_switch_info(self, _: str) -> None:
        """switch_info"""
        info = self._call("bm_mgmt_get_info")
        for name, value in (
            ("device_id", info.device),
            ("thrift_port", info.port),
            ("notifications_socket", info.notifications),
            ("elogger_socket", info.events),
            ("debugger_socket", info.debugger),
        ):
            print(f"{name:25}: {value}")

    def do_reset_state(self, _: str) -> None:
        """reset_state"""
        self._call("bm_reset_state")


def _target(target: Any) -> str:
    if target.action:
        data = ", ".join(f"{int.from_bytes(word, 'big'):02x}" for word in target.data)
        return f"{target.action} - {data}"
    if target.group is not None:
        return f"group({target.group})"
    return f"member({target.member})"


def _rate(text: str) -> Any:
    rate, _, burst = text.partition(":")
    return TYPES["Rate"](float(rate), int(burst))


def _bits(ports: Sequence[int]) -> str:
    """A map of ports: a digit for each, the last for port 0."""
    return "".join("01"[port in ports] for port in range(max(ports, default=0), -1, -1))
