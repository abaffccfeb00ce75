"""`vindibot stdio` over pipes and as a program of the arena. tests/arena/test_programs.py compares its moves there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import psutil
import pytest

from tests.games.test_line_protocol import OPENING, STATE
from tests.session.test_play import slow_bot
from tests.support.arenabots import first_game
from tests.support.commands import command, environment, run
from vindibot.games.outcome import Outcome

pytestmark = pytest.mark.timeout(300)

WORDS = {"WAIT", "NORTH", "SOUTH", "EAST", "WEST"}


def played(folder: Path, bot: str, *, move_ms: int = 20_000, first_ms: int = 60_000) -> str:
    """Play six rounds as a program of the arena without a late answer, and return what the program wrote to standard error."""
    program = (
        f"me=stdio:'{sys.executable}' -m vindibot stdio '{folder / bot}' --workers 2 --limit-ms {move_ms} --first-ms {first_ms}"
    )
    times = {"limits__start_s": 100, "limits__move_ms": move_ms + 1000, "limits__first_ms": 60_000}
    line = first_game(program, "random", "random", "random", rounds=6, logs=folder, **times)
    assert (line.seats[0].outcome, line.seats[0].moves) == (Outcome(), 6)
    return (folder / "b00000g000-1-me.log").read_text()


def answer_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline()


@contextmanager
def started(folder: Path, *words: str, errors: IO[bytes] | int = subprocess.DEVNULL) -> Iterator[subprocess.Popen[bytes]]:
    """The command, with a referee that has sent the first turn."""
    process = subprocess.Popen(
        command("stdio", *words),
        cwd=folder,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        bufsize=0,
    )
    assert process.stdin is not None
    process.stdin.write((OPENING + STATE).encode())
    try:
        yield process
    finally:
        process.kill()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()
        process.wait()


@pytest.mark.slow
def test_work_of_the_first_turn_is_done_before_the_game(tmp_path: Path) -> None:
    slow_bot(tmp_path)
    errors = played(tmp_path, "slow.toml", move_ms=1000, first_ms=1000)
    assert "failed" not in errors
    assert "late" not in errors


@pytest.mark.slow
def test_its_answer_asks_for_expert_input_or_not(tmp_path: Path) -> None:
    for words, answers in (([], {f"{word} EXPERT_INPUT" for word in WORDS}), (["--no-expert"], WORDS)):
        with started(stay(tmp_path), "stay.toml", *words) as process:
            assert answer_line(process).decode().strip() in answers


OWN = """
import os
import sys

from behaviours import Behaviour

print("imported")
os.write(1, b"written\\n")
os.system("echo shouted")
print("input:", sys.stdin.read(1) or "empty")


class Prints(Behaviour):
    def vote(self, view):
        print("voting")
        os.write(1, b"unseen\\n")
        return {move: 1.0 for move in view.moves if move}


class Raises(Behaviour):
    def vote(self, view):
        raise ValueError("no idea")


class Hangs(Behaviour):
    def vote(self, view):
        while True:
            pass
"""


@pytest.mark.slow
def test_what_traits_print_is_no_move_and_a_trait_that_hangs_costs_no_turn(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    tables = [f'[traits.{name}]\nuse = "own:{name.capitalize()}"\n' for name in ("prints", "raises", "hangs")]
    (tmp_path / "own.toml").write_text("\n".join(tables))
    errors = played(tmp_path, "own.toml", move_ms=1000, first_ms=1000)
    for text in ("imported", "written", "shouted", "input: empty", "voting", "the trait hangs failed on turn"):
        assert text in errors
    assert errors.count("the trait raises failed on turn 0: ValueError: no idea") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("GET / HTTP/1.1\n", "line 1: the board's size must be a whole number from 1 to 28, not 'GET / HTTP/1.1'"),
        (OPENING + STATE + STATE.replace("MINE", "TREE"), "line 18: an entity is HERO id x y life gold"),
        ("9" * 10_000, "line 1: the board's size"),
    ],
)
def test_bad_input(tmp_path: Path, text: str, words: str) -> None:
    done = run(tmp_path, "stdio", "seed", "--nodes", "10", keys=text)
    assert done.returncode == 2, done.stderr
    assert f"error: {words}" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stdout.splitlines()) == text.count("5\nHERO") - ("TREE" in text)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", OPENING + "5\nHERO 0 0"])
def test_the_end_of_the_input_ends_it(tmp_path: Path, text: str) -> None:
    done = run(stay(tmp_path), "stdio", "stay.toml", keys=text)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def stay(folder: Path) -> Path:
    """A folder with a bot of one quick trait."""
    (folder / "stay.toml").write_text("[traits.mine-finder]\n")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("how", ["input", "kill", "term"])
def test_no_process_is_left(tmp_path: Path, how: str) -> None:
    with started(stay(tmp_path), "stay.toml") as process:
        assert answer_line(process).split()[0].decode() in WORDS
        children = psutil.Process(process.pid).children(recursive=True)
        assert any(child.name() == "vindibot-worker" for child in children)
        assert process.stdin is not None
        if how == "input":
            process.stdin.close()
            assert process.wait(60) == 0
        else:
            process.kill() if how == "kill" else process.terminate()
            assert process.wait(60) < 0
        assert psutil.wait_procs(children, timeout=60)[1] == []
        assert answer_line(process) == b""


@pytest.mark.slow
def test_a_referee_that_does_not_read_ends_it(tmp_path: Path) -> None:
    with (tmp_path / "errors").open("w+b") as errors, started(stay(tmp_path), "stay.toml", errors=errors) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        answer_line(process)
        process.stdout.close()
        process.stdin.write(STATE.encode())
        assert process.wait(60) == 0
        errors.seek(0)
        assert b"nobody reads the moves any more" in errors.read()
