"""Programs of which random processes are killed at random moments: they go on, and no bot pays for it."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.cli.test_killed import SHORT, running, wait_for_end
from tests.support.commands import command
from tests.support.waiting import wait_until
from vindibot.arena.results import read_results

pytestmark = pytest.mark.slow_faults

#: A bot with a trait of its own, which plays in a child of its own.
OWN = """
from behaviours import Behaviour

class Own(Behaviour):
    def vote(self, view):
        return {"North": 1, "South": 0.5}
"""
#: Number of signals, and the longest time between two of them in seconds.
SIGNALS, PAUSE = 6, 1.5


def lines(path: Path, word: bytes) -> int:
    return path.read_bytes().count(word) if path.is_file() else 0


def own(folder: Path) -> None:
    (folder / "own.py").write_text(OWN)
    (folder / "own.toml").write_text('[traits.own]\nuse = "own:Own"\n')


def arena(folder: Path) -> tuple[list[str], Callable[[], int]]:
    own(folder)
    (folder / "wall.toml").write_text("[limits]\nwall_s = 10.0\n")
    bots = ("own.toml", "seed", "malvert", "stay")
    words = command("arena", *bots, *SHORT, "--blocks", "9999", "--config", "wall.toml", "--results", "r.jsonl")
    return words, lambda: lines(folder / "r.jsonl", b"\n")


def tune(folder: Path) -> tuple[list[str], Callable[[], int]]:
    words = command("tune", "play", "searcher", *SHORT, "--games", "9999", "--study", "s.jsonl")
    return words, lambda: lines(folder / "s.jsonl", b'"intermediate_value":')


def play(folder: Path) -> tuple[list[str], Callable[[], int]]:
    own(folder)
    words = command(
        *("play", "--bot", "own.toml", "--against", "random", "--games", "9999", "--rounds", "30", "--parallel", "2"),
        *("--display", "none", "--recordings", "games"),
    )
    return words, lambda: sum(lines(one, b"\n") for one in (folder / "games").glob("*"))


def a_descendant(process: subprocess.Popen[str], rng: random.Random) -> psutil.Process | None:
    """Return a random process of a random name."""
    named: dict[str, list[psutil.Process]] = {}
    for one in sorted(psutil.Process(process.pid).children(recursive=True), key=lambda one: one.pid):
        with contextlib.suppress(psutil.NoSuchProcess):
            named.setdefault(one.name(), []).append(one)
    return rng.choice(named[rng.choice(sorted(named))]) if named else None


def disturb(process: subprocess.Popen[str], rng: random.Random, seen: set[psutil.Process]) -> list[str]:
    """Kill descendants. Put all that were there into `seen`, and return what was done."""
    done = []
    for _ in range(SIGNALS):
        time.sleep(rng.random() * PAUSE)  # the moment is random
        if process.poll() is not None:
            break
        seen.update(psutil.Process(process.pid).children(recursive=True))
        one = a_descendant(process, rng)
        if one is not None:
            with contextlib.suppress(psutil.NoSuchProcess):
                done.append(one.name())
                one.kill()
    return done


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("program", [arena, tune, play])
def test_it_goes_on_and_nothing_is_left(
    tmp_path: Path, program: Callable[[Path], tuple[list[str], Callable[[], int]]], seed: int
) -> None:
    words, count = program(tmp_path)
    seen = set[psutil.Process]()
    with running(words, lambda: count() > 0, tmp_path) as (process, _):
        done = disturb(process, random.Random(seed), seen)
        before = count()
        wait_until(lambda: count() > before + 4 or process.poll() is not None, 200)
        assert process.poll() is None, (done, process.communicate()[0])
        seen.update(psutil.Process(process.pid).children(recursive=True))
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=100)[0]
        assert process.returncode == 130, (done, output)
        wait_for_end(seen)
    if program is arena:
        games = read_results(tmp_path / "r.jsonl")
        assert {seat.outcome.reason for game in games if game.ending != "aborted" for seat in game.seats} == {"finished"}, done
