"""Subscribers of the gateway: a PPPoE client in user space, one by one or by the thousand.

    subscriber = Subscriber(Account(name="alice", password="wonder", mac=mac, line=line), random)
    subscriber.dial(now); subscriber.heard(now, frame); subscriber.tick(now); subscriber.deadline
    subscriber.take()            # frames to be sent
    subscriber.received          # IP packets that came; the owner empties the list
    subscriber.send(packet)      # an IP packet
    subscriber.state             # State.UP when every family is
    subscriber.hang_up(now); subscriber.vanish()

    crowd = Crowd(subscribers, Schedule(start_rate=1000, max_outstanding=800))
    crowd.start(now); crowd.tick(now); crowd.heard(now, frame); crowd.take(); crowd.deadline
    crowd.report()               # calls per second, failures, packets of wrong sessions

Frames are whole Ethernet frames with what `Line` puts around them. Nothing here reads a clock or
opens a socket but `real.py`: `python -m p4lab.systems.bng.subscriber eth0 --user alice`.
"""

from p4lab.systems.bng.subscriber.access import Line
from p4lab.systems.bng.subscriber.client import Account, State, Subscriber
from p4lab.systems.bng.subscriber.crowd import Crowd, Report, Schedule

__all__ = ["Account", "Crowd", "Line", "Report", "Schedule", "State", "Subscriber"]
