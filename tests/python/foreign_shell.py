"""p4runtime-shell in front of our switch, in its own environment: ADDRESS P4INFO DEVICE_CONFIG."""

import sys

import p4runtime_sh.shell as sh
from p4runtime_sh.p4runtime import P4RuntimeWriteException

address, info, device_config = sys.argv[1:]
sh.setup(
    device_id=1,
    grpc_addr=address,
    election_id=(0, 9),
    config=sh.FwdPipeConfig(info, device_config),
)
try:
    entry = sh.TableEntry("I.l2")(action="I.forward")
    entry.match["h.eth.dst"] = "00:00:00:00:00:05"
    entry.action["port"] = "3"
    entry.insert()
    assert len(list(sh.TableEntry("I.l2").read())) == 1
    entry.action["port"] = "4"
    entry.modify()
    ternary = sh.TableEntry("I.acl")(action="I.drop")
    ternary.match["h.eth.dst"] = "00:00:00:00:00:01 &&& 00:00:00:00:00:0f"
    ternary.priority = 7
    ternary.insert()
    counter = sh.CounterEntry("I.arrivals")
    counter.index = 1
    counter.packet_count = 5
    counter.modify()
    assert [cell.packet_count for cell in counter.read()] == [5]
    group = sh.MulticastGroupEntry(1)
    group.add(1, 1).add(2, 1)
    group.insert()
    session = sh.CloneSessionEntry(2)
    session.add(1, 0)
    session.insert()
    entry.delete()
    assert not list(sh.TableEntry("I.l2").read())
    try:
        entry.delete()
    except P4RuntimeWriteException as error:
        assert "NOT_FOUND" in str(error), error
    else:
        raise AssertionError("an entry that is gone was deleted")
finally:  # its threads would wait for ever
    sh.teardown()
print("all done")
