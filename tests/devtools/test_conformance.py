"""The conformance suite of traits: each check finds traits that break its promise, and says what is wrong and what to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from behaviours import Behaviour, View, Votes
from sim.board import BoardError, parse
from sim.game import STAY
from tests.support.paths import BOTS, TOP
from vindibot.devtools import conformance
from vindibot.testing import CHECKS, Check, ConformanceError, check_trait, check_turn, view, votes


@pytest.fixture(autouse=True)
def traits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the bad traits importable, and the timeout short."""
    monkeypatch.syspath_prepend(BOTS)
    monkeypatch.setattr(conformance, "TIMEOUT", 1.0)


def bad(name: str, **parameters: object) -> Behaviour:
    import bad_traits
    import unruly_traits

    kind = getattr(unruly_traits, name, None) or getattr(bad_traits, name)
    trait: Behaviour = kind(**parameters)
    return trait


def failure(trait: Behaviour, seconds: float = 1.0) -> ConformanceError:
    with pytest.raises(ConformanceError) as raised:
        check_trait(trait, seconds=seconds)
    return raised.value


@pytest.mark.parametrize(
    ("name", "parameters", "checks", "wrong", "advice"),
    [
        ("Remembers", {}, "build", "is not the same: Remembers()", "keep nothing in a trait but its parameters"),
        ("Divides", {}, "odd", "ZeroDivisionError", "no enemies"),
        ("Doomed", {}, "answers, odd", "a vote of nan is not finite", "where NaN and infinity come from"),
        ("Halfway", {}, "answers, odd", "not 'north'", "answer with a direction"),
        ("Muddled", {}, "answers, odd", "depth of a SearchInfo", "answer with a direction"),
        ("Answers", {"what": "shape"}, "answers, odd", "five numbers", "answer with a direction"),
        ("Raises", {}, "answers, odd", "RuntimeError: no idea", "under a debugger"),
        ("Exits", {}, "answers, odd", "SystemExit", "under a debugger"),
        ("Endless", {}, "ends", "still yielding after 10000 answers, with a budget of 500 nodes", "where view.budget.nodes"),
        ("LoopsInPython", {}, "ends", "it hung", "look at view.budget in every loop"),
        ("LoopsInKernel", {}, "ends", "it hung", "look at view.budget in every loop"),
        ("Counts", {}, "same", "when it was asked again", "keep nothing from turn to turn"),
        ("Gambles", {}, "same", "when it was asked again", "view.rng()"),
        ("Scribbles", {"what": "game"}, "view", "changed the game (view.games", "Work on a copy"),
        ("Scribbles", {"what": "history"}, "view", "changed the recent turns", "Work on a copy"),
        ("Scribbles", {"what": "after"}, "view", "view.after(0)", "Work on a copy"),
        ("Scribbles", {"what": "budget"}, "view", "its budget", "Work on a copy"),
        ("Scribbles", {"what": "view"}, "view", "which now has plan", "view.shared"),
    ],
)
def test_a_broken_promise_is_named_with_advice(
    name: str, parameters: dict[str, object], checks: str, wrong: str, advice: str
) -> None:
    found = failure(bad(name, **parameters), seconds=0.3 if wrong == "it hung" else 1.0)
    assert found.check == checks, found
    assert wrong in str(found), found
    assert advice in str(found), found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "wrong", "advice"),
    [
        ("Sleeps", "with 500 nodes; 0.05 s are allowed", "do less work per node"),
        ("Deaf", "told to stop after 0.1 s; 0.05 s are allowed", "view.budget.expired()"),
        ("Warms", "with 500 nodes; 0.05 s are allowed", "only its first turn is slow"),
    ],
)
def test_a_late_trait_gets_advice(name: str, wrong: str, advice: str) -> None:
    (ends,) = [check for check in CHECKS if check.name == "ends"]
    with pytest.raises(ConformanceError) as found:
        ends(bad(name, seconds=0.4), seconds=0.05)
    assert wrong in found.value.wrong
    assert advice in found.value.advice


def test_the_order_of_a_set_differs_between_processes() -> None:
    found = failure(bad("Hashes"))
    assert found.check == "same"
    assert "in another process" in found.wrong


def test_a_crash_of_the_process_is_survived() -> None:
    found = failure(bad("Segfaults"))
    assert "answers" in found.check
    assert "its process ended with signal SIGSEGV" in str(found)
    assert "an index out of range" in str(found)


def test_a_class_in_a_function_cannot_be_built_elsewhere() -> None:
    class Local(Behaviour):
        def vote(self, view: View) -> Votes:
            return STAY

    found = failure(Local())
    assert found.check == "build"
    assert "cannot be built in another process" in found.wrong
    assert "top level of a module" in found.advice


def test_the_position_of_a_failure_can_be_drawn_again() -> None:
    """What the message shows is what `view` reads: the failure happens again there."""
    trait = bad("Divides")
    text = failure(trait).wrong
    board = text[text.index("+--") :]
    board = board[: board.index("\n  File")]
    with pytest.raises(ZeroDivisionError):
        votes(trait, view(board, me=0))
    assert "1.0 / len(view.enemies)" in text, "the line of the trait is shown"


def bad_inner() -> Behaviour:
    import unruly_traits

    return unruly_traits.Outer.Inner()


@pytest.mark.parametrize("check", CHECKS, ids=str)
def test_one_check_after_the_other(check: Check) -> None:
    """As in a user's own tests: a class stands for the trait with its defaults."""
    check(type(bad_inner()))
    assert check.promise


def test_boards_of_ones_own() -> None:
    picky = bad("Scribbles", what="nothing")
    check_trait(picky, boards=["|@1$-|\n|    |", parse("|  @2|\n|    |")])
    with pytest.raises(BoardError):
        check_trait(picky, boards=["@1?!"])


def test_one_turn_in_this_process() -> None:
    games = parse("|@1$-|\n|    |")
    assert check_turn(bad_inner(), games, 0) == (1.0, 0.0, 1.0, 1.0, 0.0)
    for trait, check in [(bad("Raises"), "answers"), (bad("Scribbles"), "view"), (bad("Gambles"), "same")]:
        with pytest.raises(ConformanceError) as found:
            check_turn(trait, games, 0)
        assert found.value.check == check


PROGRAM = """
from behaviours import Behaviour, View, Votes
from vindibot.testing import check_trait

class Mine(Behaviour):
    def vote(self, view: View) -> Votes:
        return 0

"""


@pytest.mark.parametrize(
    ("how", "last", "message"),
    [
        ("cell", "check_trait(Mine)", "its class is defined in a notebook or in the interactive interpreter"),
        ("file", "check_trait(Mine)", "the program has no `if __name__ == '__main__':`"),
        ("file", "if __name__ == '__main__':\n    check_trait(Mine)", ""),
    ],
)
def test_class_in_the_program_itself(tmp_path: Path, how: str, last: str, message: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM + last)
    words = {"cell": ["-c", PROGRAM + last], "file": [str(program)]}[how]
    done = subprocess.run([sys.executable, *words], cwd=TOP, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (not message), done.stderr
    assert message in done.stderr
