"""Traits that damage what is around them: in an arena the other bots play as ever, and a game of ours goes on too.

Each test starts the whole program.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from tests.bots.destructive_traits import MARKER
from tests.support.commands import command, environment, recordings
from tests.support.paths import BOTS
from vindibot.arena.results import read_results
from vindibot.games.files.recording import read_recording
from vindibot.games.outcome import Reason

#: Seconds after which a tournament counts as one that does not end. It takes a few seconds.
LONGEST = 60.0
#: What the traits do. The key is a name for the test.
TRAITS: dict[str, tuple[str, dict[str, object]]] = {
    "closes-output": ("ClosesOutput", {}),
    "closes-all": ("ClosesAll", {}),
    "replaces-all": ("ReplacesAll", {}),
    "clears-modules": ("ClearsModules", {}),
    "clears-builtins": ("ClearsBuiltins", {}),
    "limits-memory": ("LimitsMemory", {}),
    "limits-descriptors": ("LimitsDescriptors", {}),
    "limits-time": ("LimitsTime", {}),
    "kills-parent": ("HarmsParent", {"number": int(signal.SIGKILL)}),
    "stops-parent": ("HarmsParent", {"number": int(signal.SIGSTOP)}),
    "stops-itself": ("HarmsItself", {"number": int(signal.SIGSTOP)}),
    "kills-itself": ("HarmsItself", {"number": int(signal.SIGKILL)}),
    "writes-everywhere": ("WritesEverywhere", {}),
    "writes-pickles": ("WritesPickles", {"mark": "MARK"}),
    "writes-to-memory": ("WritesToMemory", {}),
    "leaves-thread": ("LeavesThread", {}),
    "ignores-signals": ("IgnoresSignals", {}),
    "changes-folder": ("ChangesFolder", {}),
}
GOOD = """
from behaviours import Behaviour

class Good(Behaviour):
    def vote(self, view):
        return dict.fromkeys(view.moves, 1.0)
"""


class Program:
    """Runs vindibot in a folder with the bots ``bad`` and ``good``, which have traits of their own."""

    def __init__(self, folder: Path, trait: str) -> None:
        self.folder, self.mark, self.word = folder, folder / "mark", uuid4().hex
        name, parameters = TRAITS[trait]
        for bot in ("bad", "good"):
            (folder / bot).mkdir()
        (folder / "bad" / "destructive_traits.py").write_text((BOTS / "destructive_traits.py").read_text())
        lines = [f"{key} = {value!r}".replace("'MARK'", f'"{self.mark}"') for key, value in parameters.items()]
        text = "\n".join([f'[traits.bad]\nuse = "destructive_traits:{name}"', *lines])
        (folder / "bad" / "bad.toml").write_text(text + "\n")
        (folder / "bad" / "among.toml").write_text(f'extends = "seed"\n{text}\n')
        (folder / "good" / "goodtrait.py").write_text(GOOD)
        (folder / "good" / "good.toml").write_text('[traits.good]\nuse = "goodtrait:Good"\n')

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*words),
            cwd=self.folder,
            env=environment(**{MARKER: self.word}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST,
            check=False,
        )

    def left(self) -> list[psutil.Process]:
        """Return the processes of the program that still run."""
        found = []
        for one in psutil.process_iter():
            with suppress(psutil.Error):
                if one.pid != os.getpid() and one.environ().get(MARKER) == self.word and one.status() != psutil.STATUS_ZOMBIE:
                    found.append(one)
        return found


@pytest.fixture
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Program]:
    program = Program(tmp_path, request.param)
    try:
        yield program
    finally:
        for one in program.left():
            with suppress(psutil.Error):
                one.kill()


SLOW = [trait for trait in TRAITS if trait != "writes-pickles"]


def cases() -> Iterator[object]:
    for trait in TRAITS:
        for first in (True, False):
            marks = [pytest.mark.slow_faults] if trait in SLOW or not first else []
            yield pytest.param(trait, first, id=f"{trait}-{'first' if first else 'last'}", marks=marks)


@pytest.mark.slow_faults
@pytest.mark.timeout(180)
@pytest.mark.parametrize(("program", "first"), list(cases()), indirect=["program"])
def test_in_an_arena_it_harms_no_other_bot(program: Program, first: bool) -> None:
    bots = ["good/good.toml", "malvert", "seed"]
    bots.insert(0 if first else 3, "bad/bad.toml")
    # Generous limits: a busy machine must not look like a forfeit.
    words = ["--map", "m1", "--rounds", "6", "--seed", "3", "--blocks", "1", "--workers", "2", "--config", "kind.toml"]
    # Without max_forfeits, the tournament ends, and prints what the bot printed.
    (program.folder / "kind.toml").write_text("max_forfeits = 1.0\n[limits]\ngrace_ms = 3000\n")
    done = program.run("arena", *bots, *words, "--results", "cup.jsonl")
    assert done.returncode in (0, 6), done.stdout
    assert "Traceback" not in done.stdout, done.stdout
    lines = read_results(program.folder / "cup.jsonl")
    harmed = [f"{seat.bot}: {seat.outcome.reason}: {seat.outcome.message}" for line in lines for seat in line.seats]
    harmed = [text for text in harmed if not text.startswith("bad") and ": finished" not in text]
    assert not harmed, f"{len(harmed)} of {3 * len(lines)} innocent seats forfeit: {harmed[:3]}"
    assert len(lines) == 4
    assert all(line.ending != Reason.ABORTED for line in lines)
    assert not program.mark.exists(), "bytes of the trait were unpickled"
    assert not psutil.wait_procs(program.left(), timeout=5)[1], "processes are left"


@pytest.mark.slow_faults
@pytest.mark.parametrize("program", TRAITS, indirect=True)
def test_in_a_game_of_ours_it_harms_no_other_trait(program: Program) -> None:
    done = program.run("play", "--bot", "bad/among.toml", "--rounds", "12", "--display", "none", "--seed", "1", "--workers", "2")
    assert done.returncode == 0, done.stdout
    assert "Traceback" not in done.stdout, done.stdout
    (path,) = recordings(program.folder)
    recording = read_recording(path)
    assert recording.outcome is not None
    assert recording.outcome.finished, recording.outcome
    assert len(recording.turns) == 12
    assert not program.mark.exists(), "bytes of the trait were unpickled"
    assert not psutil.wait_procs(program.left(), timeout=5)[1], "processes are left"
