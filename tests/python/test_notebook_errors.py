"""What goes wrong in a notebook is a sentence, and the next cell works."""

from __future__ import annotations

import signal
import threading
import traceback
from collections.abc import Callable
from html import escape
from pathlib import Path

import pytest

from cli_runner import p4lab
from p4lab.course.home import HERE
from p4lab.course.labs import LabError
from p4lab.course.material import start
from p4lab.errors import Interrupted, Plain
from p4lab.grading import workers
from p4lab.grading.known import wanted
from p4lab.grading.workers import Hand, Task, load
from p4lab.notebook import Folder, Lab, lab_folder, open_lab
from p4lab.notebook.checks import check
from p4lab.notebook.running import Running
from p4lab.notebook.saying import DoesNotCompile

LAB = "00-p4"
FILE = Path("levels") / "1-drop.p4"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A student's folder of lab 00."""
    list(start(LAB, tmp_path / "mine"))
    return tmp_path / "mine"


@pytest.fixture(scope="module")
def lab() -> Lab:
    return open_lab("06-bng", folder=HERE.sources)


def test_all_checks_stand_below_their_parts_with_their_numbers(tmp_path: Path) -> None:
    """As on the command line: nobody finds one of thirty rows otherwise."""
    list(start("06-bng", tmp_path / "mine"))
    found = check(lab_folder("06-bng", tmp_path / "mine"))
    shown = found._repr_html_()
    assert '<th scope="rowgroup" colspan=2>2 Terminate<td class="n">0/18</tr>' in shown
    assert "<td>2.1 Only the IPv4 packet goes to the core" in shown
    assert '<span class="dim">(waits for 2.1)</span>' in shown
    assert "✗ failed: 2.1 Only the IPv4 packet" in repr(found)
    assert "rowgroup" not in found.of("terminate")._repr_html_()


def begun(folder: Path, old: str, new: str) -> Folder:
    """Lab 03 with one task of protect.p4 done as a student may do it."""
    list(start("03-protect", folder))
    file = folder / "protect" / "protect.p4"
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))
    return lab_folder("03-protect", folder)


def test_a_part_alone_is_told_as_on_the_command_line(tmp_path: Path) -> None:
    """Who asks for part 2 learns of its mistakes although part 1 is not done."""
    old = "// TODO tag: where the tunnel of this copy ends"
    folder = begun(tmp_path / "mine", old, "hdr.ipv4.dst_addr = dst_addr;")
    whole = check(folder)
    found = whole.of("tag")
    assert all(one.status == "skipped" for one in whole.checks if one.part == "tag")
    assert "✗ failed: 2.1" in repr(found) and found.view().data["failed"]
    assert "(1.1 fails, too, and may be the cause)" in found._repr_html_()
    assert repr(check(folder, "tag")) == repr(found)
    assert repr(found.of(None)) == repr(whole)


def test_a_part_that_waits_says_what_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six checks that wait for a number are no answer to what to do now."""
    list(start("01-bier", tmp_path / "mine"))
    found = check(lab_folder("01-bier", tmp_path / "mine"), "sets")
    first = 'First: lab.check("forward")'
    assert first in repr(found) and escape(first) in found._repr_html_()
    assert "First:" not in repr(found.of("forward")) + repr(found.of(None))
    monkeypatch.chdir(tmp_path)
    told = p4lab("check", "01-bier", "mine", "--part", "sets").stdout
    assert "\nFirst: p4lab check 01-bier mine --part forward\n" in told


def test_what_sends_no_packet_is_not_to_be_watched(tmp_path: Path) -> None:
    """A button that only says that there is nothing to be watched is one too many."""
    list(start("05-recirculation", tmp_path / "mine"))
    found = check(lab_folder("05-recirculation", tmp_path / "mine"))
    films = {one["id"]: one["film"] for one in found.view().data["failed"]}
    numbers = {one.id for one in found.course.checks if one.numbers}
    assert numbers & films.keys() and any(films.values())
    assert not any(films[one] for one in numbers & films.keys())
    program = tmp_path / "mine" / found.course.student.edit[0]
    program.write_text("wrong")
    broken = check(lab_folder("05-recirculation", tmp_path / "mine"))
    assert {one["film"] for one in broken.shown()[2]} == {False}, "the compiler's errors say it"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda lab: lab.check("nope"), "has no part 'nope'"),
        (lambda lab: lab.dial_view(who="zoe"), "zoe is not a subscriber"),
        (lambda lab: lab.send(99), "there is no stream 99"),
        (lambda lab: lab.send("h1"), "there is no stream 'h1'"),
        (lambda lab: lab.send(packets=0), "from 1 to 10000000, such as 3; it is 0"),
        (lambda lab: lab.send(packets="3"), "such as 3; it is '3'"),
        (lambda lab: lab.send(cut=("r1", "r2")), "cut is a link and when it fails"),
        (lambda lab: lab.send(cut=("r1", "r2", "5")), "cut is a link and when it fails"),
        (lambda lab: lab.send(cut=("r1", "web", 5, 4)), "works again after that"),
        (lambda lab: lab.send(cut=("r1", "r9", 5)), "r9"),
        (lambda lab: lab.packet_view("r9"), "there is no router 'r9'"),
        (lambda lab: lab.table_view("r1", "nope"), "no table called nope"),
        (lambda lab: lab.nothing, "there is no nothing here"),
        (lambda _: open_lab("06"), "there is no lab named '06'"),
        (lambda _: open_lab("06-bng", topology="nowhere"), "there is no topology 'nowhere'"),
    ],
)
def test_a_wrong_argument_is_one_sentence(
    lab: Lab, wrong: Callable[[Lab], object], said: str
) -> None:
    """A student who mistypes a name reads none of p4lab's own lines."""
    with pytest.raises(Exception, match=said) as caught:
        wrong(lab)
    assert isinstance(caught.value, Plain)
    assert caught.value._render_traceback_() == [str(caught.value)]


def test_a_lab_and_what_was_sent_are_a_sentence_as_the_last_line_of_a_cell(lab: Lab) -> None:
    """Else thousands of characters of p4lab's own data push the cell's answer away."""
    assert repr(lab) == f"Lab 06-bng: the finished program on {lab.topology.name}"
    sent = lab.send()
    assert repr(sent) == str(sent) and "got" in repr(sent) and len(repr(sent)) < 200
    policies = open_lab("07-fabric", folder=HERE.sources)
    assert repr(policies) == "Lab 07-fabric: the reference solution"


def test_an_interrupted_send_is_one_sentence_and_the_next_is_whole(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    before = str(lab.send())
    monkeypatch.setattr(Running, "send", interrupted)
    with pytest.raises(Interrupted) as caught:
        lab.send(packets=100_000)
    told = "Interrupted: the network was restarted, with all links up."
    assert caught.value._render_traceback_() == [told]
    monkeypatch.undo()
    assert str(lab.send()) == before


def test_an_empty_file_is_named_once(tmp_path: Path) -> None:
    """With the remedy, where the reader looks last."""
    folder = tmp_path / "mine"
    list(start("01-bier", folder))
    (folder / "bier" / "bier.p4").write_text("\n")
    told = p4lab("check", "01-bier", folder)
    assert told.returncode == 1
    assert " ".join(told.stdout.split()).count("bier/bier.p4 is empty.") == 1
    assert told.stdout.index("total") < told.stdout.index("To begin with the starter again")
    found = check(lab_folder("01-bier", folder))
    assert not found.passed
    for shown in (repr(found), found._repr_html_()):
        assert shown.count("is empty") == shown.count("delete it, then") == 1


def test_after_an_interrupt_the_next_question_gets_its_own_answer(mine: Path) -> None:
    """What the worker still answers to the first one is not for the second."""
    course = load(LAB)
    task = Task(LAB, wanted(course), None)
    hand = Hand()
    files = hand.read([("mine", mine)], task).files
    before = signal.signal(signal.SIGUSR1, signal.default_int_handler)
    here = threading.get_ident(), signal.SIGUSR1
    threading.Timer(0.05, signal.pthread_kill, here).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            hand.judge("", files, task)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert hand.read([("mine", mine)], task).files == files
    hand.stop()


def test_an_interrupted_check_says_so_in_one_line(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "check_here", interrupted)
    with pytest.raises(Interrupted) as caught:
        open_lab(LAB, folder=mine).check()
    assert caught.value._render_traceback_() == ["Interrupted: nothing was judged."]
    assert "KeyboardInterrupt" not in "".join(traceback.format_exception(caught.value)[:-1])


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda file: file.write_text("\n"), "is empty. To begin with the starter again, delete"),
        (lambda file: file.unlink(), "is missing. To begin with the starter again: "),
    ],
    ids=["empty", "missing"],
)
def test_a_file_without_text_has_one_story(
    mine: Path, spoil: Callable[[Path], object], said: str
) -> None:
    """Not the compiler's, which knows nothing of labs: it misses a name in a file of ours."""
    lab = open_lab(LAB, folder=mine, level=1)
    assert isinstance(lab, Lab)
    spoil(mine / FILE)
    errors = lab.errors()
    assert errors.startswith(f"{FILE} {said}") and errors.endswith(f"start {LAB} {mine}")
    assert errors.count("\n") == 0
    with pytest.raises(DoesNotCompile, match=said):
        lab.reload()
    assert errors in lab.check("drop").notes
    other = open_lab(LAB, folder=mine, level=2)
    assert isinstance(other, Lab) and other.errors() == ""


def test_what_is_run_of_somebody_elses_is_called_by_its_name(
    capsys: pytest.CaptureFixture[str], mine: Path
) -> None:
    """`12-faulty.p4` is neither finished nor the student's."""
    open_lab(LAB, level=12, finished=True)
    open_lab(LAB, level=12, folder=mine)
    open_lab(LAB, level=2, finished=True)
    assert capsys.readouterr().out.splitlines() == [
        "Running 12-faulty.p4 on levels.",
        "Running 12-faulty.p4 on levels:",
        "Running the finished program on levels.",
    ]


def test_a_lab_without_a_network_says_what_judges_it() -> None:
    from p4lab.course.labs import load_plan

    with pytest.raises(LabError, match=r"judged by: p4lab check 07-fabric$"):
        load_plan("07-fabric")


def test_a_program_that_has_changed_is_said_to_run_only_if_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    list(start("03-protect", tmp_path / "mine"))
    monkeypatch.setattr("p4lab.notebook.lab.say", lambda text, *files: said.append(text))
    lab = open_lab("03-protect", folder=tmp_path / "mine")
    assert said == ["Running your program on protect:", "You also write:"]
    file = tmp_path / "mine" / "protect" / "accept.p4"
    right = file.read_text(encoding="utf-8")
    said.clear()
    file.write_text(right + "\nnonsense\n", encoding="utf-8")
    with pytest.raises(DoesNotCompile, match="does not compile"):
        lab.send()
    assert not said
    file.write_text(right + "\n// changed\n", encoding="utf-8")
    lab.send()
    assert "it was compiled again" in said[-1]
