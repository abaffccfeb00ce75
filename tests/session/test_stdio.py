"""`vindibot stdio`: over pipes, with a referee that knows only the text of the protocol."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import psutil
import pytest

from sim.generator import generate
from tests.games.test_line_protocol import OPENING, STATE
from tests.session.line_referee import WORDS, play
from tests.session.test_play import slow_bot
from tests.support.commands import command, environment, run
from vindibot.arena.seats.bots import InProcessSeat
from vindibot.arena.seats.entrants import Limits
from vindibot.config.bots import load_bot

pytestmark = pytest.mark.timeout(300)

#: A limit that no machine exceeds: with a budget of nodes it changes no move.
UNHURRIED = ("--limit-ms", "20000", "--first-ms", "60000")
MAP = generate(3, size=10)


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
    game = play(command("stdio", "slow.toml", "--limit-ms", "1000", "--first-ms", "1000", "--workers", "2"), tmp_path, MAP, 0, 6)
    assert len(game.answers) == 6
    assert "failed" not in game.errors
    assert "late" not in game.errors


@pytest.mark.slow
@pytest.mark.parametrize(("bot", "seat", "rounds"), [("strong", 2, 20), ("malvert", 0, 60)])
def test_it_plays_as_in_the_arena(tmp_path: Path, bot: str, seat: int, rounds: int) -> None:
    """With a budget of nodes and a seed, the moves are those of the same bot in the process of the arena."""
    words = ("stdio", bot, "--nodes", "200", "--seed", "5", "--rounds", str(rounds), "--workers", "1", *UNHURRIED)
    game = play(command(*words), tmp_path, MAP, seat, rounds)
    assert len(game.answers) == rounds
    assert [number for number, line in enumerate(game.answers) if "EXPERT_INPUT" in line] == [0]
    local = InProcessSeat(load_bot(bot), Limits(nodes=200), 5)
    local.start(game.states[0], seat)
    assert [local.move(games) for games in game.states] == game.moves
    local.close()
    assert len(set(game.moves)) > 2


@pytest.mark.slow
def test_without_expert_input(tmp_path: Path) -> None:
    game = play(command("stdio", "seed", "--no-expert", "--nodes", "100", *UNHURRIED), tmp_path, MAP, 1, 20)
    assert set(game.answers) <= set(WORDS)
    assert "seed is ready: 60000 ms for the first move, then 20000 ms, 150 rounds" in game.errors
    assert "late" not in game.errors


PRINTS = '''
import os
import sys

from behaviours import Behaviour, View, Votes

print("imported")
os.write(1, b"written\\n")
os.system("echo shouted")
print("input:", sys.stdin.read(1) or "empty")


class Prints(Behaviour):
    """Prints."""

    def vote(self, view: View) -> Votes:
        print("voting")
        os.write(1, b"unseen\\n")
        return {move: 1.0 for move in view.moves if move}


class Raises(Behaviour):
    """Raises."""

    def vote(self, view: View) -> Votes:
        raise ValueError("no idea")
'''


@pytest.mark.slow
def test_what_traits_print_is_no_move(tmp_path: Path) -> None:
    (tmp_path / "prints.py").write_text(PRINTS)
    tables = [f'[traits.{name}]\nuse = "prints:{name.capitalize()}"\n' for name in ("prints", "raises")]
    (tmp_path / "prints.toml").write_text("\n".join(tables))
    game = play(command("stdio", "prints.toml", *UNHURRIED), tmp_path, MAP, 1, 5)
    for text in ("imported", "written", "shouted", "input: empty", "voting"):
        assert text in game.errors
    assert game.errors.count("the trait raises failed on turn 1: ValueError: no idea") == 1


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
    done = subprocess.run(
        command("stdio", "seed", "--nodes", "10"),
        cwd=tmp_path,
        env=environment(),
        input=text,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert f"error: {words}" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stdout.splitlines()) == text.count("5\nHERO") - ("TREE" in text)


@pytest.mark.slow
def test_a_bot_that_does_not_exist(tmp_path: Path) -> None:
    done = run(tmp_path, "stdio", "sed")
    assert (done.returncode, done.stdout) == (2, "")
    assert "seed" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "4\n0.M1\n", OPENING, OPENING + "5\nHERO 0 0"])
def test_the_end_of_the_input_ends_it(tmp_path: Path, text: str) -> None:
    done = subprocess.run(
        command("stdio", "stay.toml"),
        cwd=stay(tmp_path),
        env=environment(),
        input=text.encode(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b""), done.stderr


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


@pytest.mark.slow
def test_a_trait_that_hangs_costs_no_turn(tmp_path: Path) -> None:
    (tmp_path / "hangs.py").write_text(
        "from behaviours import Behaviour\n\n\n"
        "class Hangs(Behaviour):\n    def vote(self, view):\n        while True:\n            pass\n"
    )
    (tmp_path / "hangs.toml").write_text('[traits.hangs]\nuse = "hangs:Hangs"\n[traits.mine-finder]\n')
    words = ("stdio", "hangs.toml", "--limit-ms", "500", "--first-ms", "500", "--no-expert")
    game = play(command(*words), tmp_path, MAP, 1, 6)
    assert len(game.answers) == 6
    assert "the trait hangs failed on turn 1" in game.errors
