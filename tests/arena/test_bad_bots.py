"""Bad traits and bad modules of all kinds, each in a game with three innocent bots: only the bad bot may forfeit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.arena.test_destructive_traits import GOOD, TRAITS
from tests.bots.destructive_traits import MARKER
from tests.support.arenabots import nobody_left, schedule
from tests.support.paths import BOTS
from vindibot.arena.dispatch import Dispatcher
from vindibot.arena.games import LocalGames
from vindibot.arena.schedule import GameTask
from vindibot.processes.server import ForkServer

ANSWERS = ("nan", "infinity", "shape", "direction", "text", "lambda", "object")
GUESSES = ("empty", "zeros", "silent", "text", "score", "line")
BAD: list[tuple[str, dict[str, Any]]] = [
    *[(name, {}) for name in ("Raises", "Exits", "Sleeps", "LoopsInPython", "LoopsInKernel", "Segfaults", "Dies", "Prints")],
    *[("Answers", {"what": what}) for what in ANSWERS],
    *[("Guesses", {"what": what}) for what in GUESSES],
    ("SlowAtFirst", {"seconds": 0.5}),
    *[(name, {"notes": "NOTES"}) for name in ("HasChildren", "StartsDaemons")],
    ("HasChildren", {"notes": "NOTES", "hang": True}),
    *[(name, {}) for name in ("KillsParent", "ClosesAll", "WritesEverywhere", "Poisons", "Collects", "Remembers", "Tags")],
    ("Improves", {"hang": True, "steps": 3}),
    *[("Thinks", {"wrong": wrong}) for wrong in (False, True)],
    *[("Splits", {"fails": fails, "steps": 5}) for fails in ("", "raises", "dies", "hangs")],
    ("WrongPart", {"steps": 5}),
]
UNRULY: list[tuple[str, dict[str, Any]]] = [
    ("Remembers", {}),
    ("Divides", {}),
    ("Doomed", {}),
    ("Halfway", {}),
    ("Muddled", {}),
    ("Endless", {}),
    ("Deaf", {}),
]
UNRULY += [("Warms", {}), ("Counts", {})]
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    f"{module}-{number}-{name}": (module, name, parameters)
    for module, traits in (("bad_traits", BAD), ("unruly_traits", UNRULY), ("destructive_traits", list(TRAITS.values())))
    for number, (name, parameters) in enumerate(traits)
}
#: What a module does when it is imported in another process than the one of the test, which checks the bots.
MODULES = {
    "raises": "raise RuntimeError('no idea')",
    "exits": "raise SystemExit(3)",
    "ends": "os._exit(3)",
    "dies": "os.kill(os.getpid(), 9)",
    "segfaults": "import ctypes; ctypes.string_at(0)",
    "sleeps": "import time; time.sleep(3600)",
    "closes": "os.closerange(3, 4096)",
    "clears": "sys.modules.clear()",
    "kills its parent": "os.kill(os.getppid(), 9)",
    "stops its parent": "os.kill(os.getppid(), 19)",
    "writes": "[os.write(fd, bytes(8)) for fd in range(3, 64) if os.path.exists(f'/proc/self/fd/{fd}')]",
    "forks": "os.register_at_fork(after_in_child=lambda: os._exit(4))",
}
#: A few of them for each run of the tests.
USUAL = ("bad_traits-1-Exits", "bad_traits-5-Segfaults", "bad_traits-26-WritesEverywhere")


def games(bad: str, good: str, rounds: int = 4) -> list[GameTask]:
    """Return a game in which the bad bot moves first, and a game in which it moves last."""
    plan = schedule(
        f"bad={bad}",
        f"good={good}",
        "malvert",
        "seed",
        rounds=rounds,
        limits__move_ms=30_000,
        entrants={"bad": {"bot": bad, "move_ms": 500}},
    )
    found = list(plan.tasks())
    return [found[0], found[3]]


@pytest.fixture
def good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the path of an innocent bot with a trait of its own. Traits may harm the processes of the fork server."""
    monkeypatch.setenv(MARKER, "1")
    monkeypatch.setattr(ForkServer, "_of_process", ForkServer())  # so that it has prepared nothing for other tests
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "goodtrait.py").write_text(GOOD)
    (tmp_path / "good" / "good.toml").write_text('[traits.good]\nuse = "goodtrait:Good"\n')
    yield str(tmp_path / "good" / "good.toml")
    ForkServer.of_process().close()


def check(bad: Path, good: str) -> None:
    """Play two games. Both are played to the end, and only the bad bot may forfeit."""
    tasks = games(str(bad), good)
    notes: list[str] = []
    with nobody_left():
        entrants = [seat.entrant for seat in tasks[0].seats]
        found = list(Dispatcher(partial(LocalGames, entrants, 2), 2, notes.append).run(tasks))
    assert len(found) == 2
    for one in found:
        assert one.line.ending == "finished", notes
        assert all(seat.outcome.finished for seat in one.line.seats if seat.bot != "bad"), one.line


@pytest.mark.slow_faults
@pytest.mark.timeout(300)
@pytest.mark.parametrize("case", [pytest.param(one, marks=() if one in USUAL else pytest.mark.slow_faults) for one in CASES])
def test_no_trait_harms_an_innocent_bot(tmp_path: Path, good: str, case: str) -> None:
    module, name, parameters = CASES[case]
    folder = tmp_path / "bad"
    folder.mkdir()
    (folder / f"{module}.py").write_text((BOTS / f"{module}.py").read_text())
    values = {"NOTES": str(tmp_path / "notes"), "MARK": str(tmp_path / "mark"), True: "true", False: "false"}
    lines = []
    for key, value in parameters.items():
        shown = values.get(value, value)
        lines.append(f"{key} = {shown}" if shown in ("true", "false") or not isinstance(shown, str) else f'{key} = "{shown}"')
    (folder / "bad.toml").write_text("\n".join([f'[traits.bad]\nuse = "{module}:{name}"', *lines, ""]))
    check(folder / "bad.toml", good)
    assert not (tmp_path / "mark").exists(), "bytes of the trait were unpickled"


@pytest.mark.slow_faults
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", MODULES)
def test_no_module_harms_an_innocent_bot(tmp_path: Path, good: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vindibot.arena.seats.bots.START_SECONDS", 20.0)
    folder = tmp_path / "bad"
    folder.mkdir()
    text = f"import os, sys\nfrom behaviours import Behaviour\n\nif os.getpid() != {os.getpid()}:\n    {MODULES[kind]}\n\n"
    (folder / "module.py").write_text(f"{text}\nclass Bad(Behaviour):\n    def vote(self, view):\n        return 1\n")
    (folder / "bad.toml").write_text('[traits.bad]\nuse = "module:Bad"\n')
    check(folder / "bad.toml", good)
