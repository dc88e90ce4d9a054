"""PPP's automaton does what RFC 1661 prints in section 4.1, in each state.

If these fail, a subscriber and the gateway wait for each other for ever, or a link that one side
has closed stays open at the other.
"""

from types import SimpleNamespace

import pytest

from p4lab.systems.bng.ppp import Settings
from p4lab.systems.bng.ppp.automaton import ROUNDS, ROWS, Automaton, State
from p4lab.systems.bng.ppp.codes import packet

# By state and then by event, while the code has it by event as the RFC does: who makes the same
# slip twice must make it in two directions.
EXPECTED = {
    "Initial": {"Up": "2", "Open": "tls/1", "Close": "0"},
    "Starting": {"Up": "irc scr/6", "Open": "1", "Close": "tlf/0"},
    "Closed": {
        "Down": "0", "Open": "irc scr/6", "Close": "2",
        "RCR+": "sta/2", "RCR-": "sta/2", "RCA": "sta/2", "RCN": "sta/2", "RTR": "sta/2",
        "RTA": "2", "RUC": "scj/2", "RXJ+": "2", "RXJ-": "tlf/2", "RXR": "2",
    },
    "Stopped": {
        "Down": "tls/1", "Open": "3", "Close": "2",
        "RCR+": "irc scr sca/8", "RCR-": "irc scr scn/6", "RCA": "sta/3", "RCN": "sta/3",
        "RTR": "sta/3", "RTA": "3", "RUC": "scj/3", "RXJ+": "3", "RXJ-": "tlf/3", "RXR": "3",
    },
    "Closing": {
        "Down": "0", "Open": "5", "Close": "4", "TO+": "str/4", "TO-": "tlf/2",
        "RCR+": "4", "RCR-": "4", "RCA": "4", "RCN": "4", "RTR": "sta/4", "RTA": "tlf/2",
        "RUC": "scj/4", "RXJ+": "4", "RXJ-": "tlf/2", "RXR": "4",
    },
    "Stopping": {
        "Down": "1", "Open": "5", "Close": "4", "TO+": "str/5", "TO-": "tlf/3",
        "RCR+": "5", "RCR-": "5", "RCA": "5", "RCN": "5", "RTR": "sta/5", "RTA": "tlf/3",
        "RUC": "scj/5", "RXJ+": "5", "RXJ-": "tlf/3", "RXR": "5",
    },
    "Req-Sent": {
        "Down": "1", "Open": "6", "Close": "irc str/4", "TO+": "scr/6", "TO-": "tlf/3",
        "RCR+": "sca/8", "RCR-": "scn/6", "RCA": "irc/7", "RCN": "irc scr/6", "RTR": "sta/6",
        "RTA": "6", "RUC": "scj/6", "RXJ+": "6", "RXJ-": "tlf/3", "RXR": "6",
    },
    "Ack-Rcvd": {
        "Down": "1", "Open": "7", "Close": "irc str/4", "TO+": "scr/6", "TO-": "tlf/3",
        "RCR+": "sca tlu/9", "RCR-": "scn/7", "RCA": "scr/6", "RCN": "scr/6", "RTR": "sta/6",
        "RTA": "6", "RUC": "scj/7", "RXJ+": "6", "RXJ-": "tlf/3", "RXR": "7",
    },
    "Ack-Sent": {
        "Down": "1", "Open": "8", "Close": "irc str/4", "TO+": "scr/8", "TO-": "tlf/3",
        "RCR+": "sca/8", "RCR-": "scn/6", "RCA": "irc tlu/9", "RCN": "irc scr/8", "RTR": "sta/6",
        "RTA": "8", "RUC": "scj/8", "RXJ+": "8", "RXJ-": "tlf/3", "RXR": "8",
    },
    "Opened": {
        "Down": "tld/1", "Open": "9", "Close": "tld irc str/4",
        "RCR+": "tld scr sca/8", "RCR-": "tld scr scn/6", "RCA": "tld scr/6", "RCN": "tld scr/6",
        "RTR": "tld zrc sta/5", "RTA": "tld scr/6", "RUC": "scj/9", "RXJ+": "9",
        "RXJ-": "tld irc str/5", "RXR": "ser/9",
    },
}  # fmt: skip
EVENTS = ["Up", "Down", "Open", "Close", "TO+", "TO-", "RCR+", "RCR-", "RCA", "RCN", "RTR", "RTA"]
EVENTS += ["RUC", "RXJ+", "RXJ-", "RXR"]
NUMBERS = dict(zip(EXPECTED, range(10), strict=True))
CODES = {1: "scr", 5: "str", 6: "sta", 7: "scj", 99: "prepared"}
PREPARED = packet(99, 7)
NOW = 100.0


class Recorder(Automaton):
    """An automaton that wants nothing and writes down what it does."""

    protocol = 0xC021
    name = "test"

    def __init__(self, settings=None):
        self.log = []
        link = SimpleNamespace(settings=settings or Settings(), peer_mru=1492, out=self)
        super().__init__(link)
        self.heard_body = packet(12, 9)
        self.answer = PREPARED

    def append(self, sent):
        self.log.append(CODES[sent[1][0]])

    def reset(self):
        pass

    def wishes(self):
        return b""

    def up(self, now):
        self.log.append("tlu")

    def down(self, now):
        self.log.append("tld")

    def finished(self, now):
        self.log.append("tlf")

    def give_up(self, now, reason):
        self.log.append("gave up")


@pytest.mark.parametrize("state", EXPECTED)
@pytest.mark.parametrize("event", EVENTS)
def test_an_event_in_a_state(state, event):
    automaton = Recorder()
    automaton.state, automaton.restarts = NUMBERS[state], 5
    automaton.event(NOW, ROWS[event])
    expected = EXPECTED[state].get(event)
    if expected is None:
        assert (automaton.state, automaton.log) == (NUMBERS[state], [])
        return
    *actions, following = expected.replace("/", " ").split()
    assert automaton.state == int(following)
    visible = [action for action in actions if action not in ("irc", "zrc", "tls")]
    assert automaton.log == [
        "prepared" if action in ("sca", "scn", "ser") else action for action in visible
    ]
    settings = automaton.link.settings
    counter = 5
    if "irc" in actions:
        counter = settings.max_terminate if "str" in actions else settings.max_configure
    elif "zrc" in actions:
        counter = 0
    assert automaton.restarts == counter - sum(action in ("scr", "str") for action in actions)


def test_the_restart_timer_runs_where_something_is_awaited():
    """RFC 1661, section 4.1: it runs in the states from Closing to Ack-Sent."""
    for event, row in ROWS.items():
        for state in State:
            if row[state] is None:
                continue
            automaton = Recorder()
            automaton.state, automaton.deadline = state, NOW + 1
            automaton.event(NOW, row)
            runs = automaton.deadline != float("inf")
            if automaton.state not in range(State.CLOSING, State.OPENED):
                assert not runs, (event, state)
            elif {"scr", "str"} & set(automaton.log) or "zrc" in actions_of(state, event):
                assert automaton.deadline == NOW + automaton.link.settings.restart
            else:
                assert automaton.deadline == NOW + 1, (event, state)


def actions_of(state, event):
    return EXPECTED[list(EXPECTED)[state]][event].replace("/", " ").split()[:-1]


def test_a_peer_that_says_nothing_is_asked_ten_times():
    automaton = Recorder()
    automaton.event(NOW, ROWS["Open"])
    automaton.event(NOW, ROWS["Up"])
    now = NOW
    for _ in range(40):
        now += 3
        automaton.tick(now)
    assert automaton.log == ["scr"] * 10 + ["tlf"]
    assert automaton.state == State.STOPPED


def test_a_peer_that_refuses_for_ever_is_given_up():
    automaton = Recorder()
    automaton.state = State.REQ_SENT
    for _ in range(100):
        automaton.event(NOW, ROWS["RCN"])
        if "gave up" in automaton.log:
            break
    assert automaton.log.count("scr") == ROUNDS + 1
