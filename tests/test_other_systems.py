"""Windows and macOS: which modules use what only some systems have, and what runs without it.

The programs run as `tests.support.other_systems` lets them: it also says what such a run cannot show.
"""

from __future__ import annotations

import ast
import asyncio
import re
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from sim import kernels
from sim.generator import generate
from tests.architecture import FLOORS, modules
from tests.support.commands import ended, environment, line_with, recordings
from tests.support.line_referee import LineReferee
from tests.support.other_systems import MODULES, SYSTEMS, is_lacking, lacking
from tests.support.paths import TOP
from vindibot.games.files.recording import read_recording

pytestmark = pytest.mark.timeout(600)
#: The modules that use what a system other than Linux lacks, each with what it does there. Only Linux runs child processes. A
#: command that cannot do without them ends with a message (`vindibot.base.system`).
PLACES = {
    **dict.fromkeys(
        (
            "vindibot/arena/seats/bots.py",
            "vindibot/arena/seats/programs.py",
            "vindibot/arena/seats/stdio.py",
            "vindibot/engine/forkserver.py",
            "vindibot/engine/jobs.py",
            "vindibot/engine/worker_process.py",
            "vindibot/engine/workers.py",
        ),
        "runs with child processes only",
    ),
    "vindibot/arena/results.py": "the name of the processor comes from Python",
    "vindibot/base/orphans.py": "does nothing",
    "vindibot/base/startup.py": "the streams of Python stay",
    "vindibot/base/system.py": "sets no limits, knows none, and the priority stays",
    "vindibot/client/keys.py": "a key file has no mode",
    "vindibot/config/settings.py": "the number of cores is that of the machine",
    "vindibot/devtools/doctor.py": "knows no load, and says that child processes are missing",
    "vindibot/devtools/rerun.py": "`turn --pdb` has no time limit",
    "vindibot/server/game_server.py": "a port is free at once after the end of its server",
    "vindibot/terminal/keyboard.py": "no keys are read",
}
#: What may be such a use. Most files have none, and are not read in full.
_MAYBE = re.compile(rf"\b({'|'.join(MODULES)})\.(\w+)|import ({'|'.join(MODULES)})\b|from ({'|'.join(MODULES)}) ")
#: Files that only Linux has, and questions which system this is.
_SPECIAL = re.compile(r"[\"']/?(?:proc|sys)/|\bsys\.platform\b|\bos\.name\b")


def may_be_lacking(match: re.Match[str]) -> bool:
    """Return whether a system lacks the name or the module in a match of `_MAYBE`."""
    module, name, imported, source = match.groups()
    return source is not None or any(
        name in lacking(module, system) if module else is_lacking(imported, system) for system in SYSTEMS
    )


def uses(path: Path) -> set[str]:
    """Return what a module uses that a system lacks, as ``module.name``, and ``/proc`` or a question which system this is."""
    text = path.read_text()
    found = set(_SPECIAL.findall(text))
    if not any(may_be_lacking(match) for match in _MAYBE.finditer(text)):
        return found
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in MODULES:
            if any(node.attr in lacking(node.value.id, system) for system in SYSTEMS):
                found.add(f"{node.value.id}.{node.attr}")
        elif isinstance(node, ast.Import):
            found.update(one.name for one in node.names if any(is_lacking(one.name, system) for system in SYSTEMS))
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            names = {one.name for one in node.names}
            found.update(f"{node.module}.{name}" for name in names if any(name in lacking(node.module, s) for s in SYSTEMS))
    return found


def test_what_a_system_lacks_is_used_in_named_modules() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for floor in FLOORS:
        for path in modules(floor):
            if used := uses(path):
                found[str(path.relative_to(TOP))] |= used
    assert found.keys() == PLACES.keys(), {name: used for name, used in found.items() if name not in PLACES}


def test_the_test_could_fail(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(
        "import os, fcntl, sys\nfrom signal import SIGKILL\nos.fork()\nos.getcwd()\nopen('/proc/self')\nsys.platform\n"
    )
    assert uses(bad) == {"os.fork", "fcntl", "signal.SIGKILL", "'/proc/", "sys.platform"}
    assert "memfd_create" in lacking("os", "macos")
    assert "fork" not in lacking("os", "macos")


# ---- Whole programs ----

WARNING = "traits run in the process of this command"
#: A trait that hangs in Python code.
HANGS = """from behaviours import Behaviour
class Hangs(Behaviour):
    def vote(self, view):
        while True:
            pass
"""
#: Imports all our modules but the programs, and those for packages that are not installed.
IMPORTS = """
import importlib, pkgutil
from tests.support.line_referee import LineReferee
from tests.support.other_systems import become
become({0!r})
import behaviours, sim, vindibot
for package in (sim, behaviours, vindibot):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not found.name.endswith(("__main__", ".sb3")):
            importlib.import_module(found.name)
"""


def on(system: str, module: str, *words: str) -> list[str]:
    return [sys.executable, "-m", "tests.support.other_systems", system, module, *words]


def around(folder: Path) -> dict[str, str]:
    """The environment of a command: the compiled kernels are the usual ones."""
    caches = {"XDG_CACHE_HOME": str(folder / "cache"), "NUMBA_CACHE_DIR": str(kernels.cache_folder().parent)}
    return environment(VINDIBOT_KEY="abcdefgh", **caches)


def run_on(system: str, folder: Path, *words: str, module: str = "vindibot") -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        on(system, module, *words), cwd=folder, env=around(folder), capture_output=True, text=True, timeout=300, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


on_each_system = pytest.mark.parametrize("system", SYSTEMS)


@pytest.mark.slow
@pytest.mark.parametrize("system", ["windows", "macos"])
def test_a_game_in_the_process_names_the_danger_once(tmp_path: Path, system: str) -> None:
    done = run_on(system, tmp_path, "play", "--rounds", "10", "--seed", "3", "--display", "none")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (done.stdout + done.stderr).count(WARNING) == 1
    recording = read_recording(recordings(tmp_path)[0])
    assert recording.outcome is not None
    assert recording.outcome.reason == "finished"
    assert len(recording.turns) == 10
    assert all(entry.status == "ok" for turn in recording.turns for entry in turn.ballot.entries)


@pytest.mark.slow
def test_a_command_that_needs_children_says_so(tmp_path: Path) -> None:
    done = run_on("macos", tmp_path, "arena", "seed", "malvert", "random", "stay")
    assert done.returncode == 2
    assert re.fullmatch(r"error: this needs Linux, .*WSL.*docs/systems\.md\)\n", done.stderr), "one line"
    assert not [*tmp_path.iterdir()], "nothing was written"


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("ladder", "."),
        ("tune", "play", "seed", "--parameters", "traits.*.weight", "--games", "80"),
        ("check", f"stdio:{sys.executable}"),
    ],
    ids=" ".join,
)
def test_the_other_commands_that_need_children(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run_on("windows", tmp_path, *words)
    assert done.returncode == 2
    assert "this needs Linux" in done.stderr


@pytest.mark.slow
@on_each_system
def test_every_module_can_be_imported(tmp_path: Path, system: str) -> None:
    words = [sys.executable, "-c", IMPORTS.format(system)]
    done = subprocess.run(words, cwd=tmp_path, env=around(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@on_each_system
def test_what_a_recorded_game_is_good_for(tmp_path: Path, system: str) -> None:
    played = run_on(system, tmp_path, "play", "--in-process", "--rounds", "5", "--seed", "3", "--display", "none")
    assert played.returncode == 0, played.stdout + played.stderr
    assert WARNING not in played.stdout + played.stderr
    commands: list[tuple[str, ...]] = [
        ("replay", "last", "--html", "game.html"),
        ("turn", "last", "--turn", "4"),
        ("review", "last", "--rounds", "5"),
    ]
    if system == "windows":
        commands += [("replay", "last", "--gif", "game.gif"), ("check", "seed"), ("warm", "seed")]
        commands += [("diff", "seed", "malvert", "last", "--turns", "4", "--worst", "0")]
    for words in commands:
        done = run_on(system, tmp_path, *words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        asks = words[0] in ("turn", "review", "diff", "check")
        assert (done.stdout + done.stderr).count(WARNING) == asks, words
    assert (tmp_path / "game.html").stat().st_size > 10_000


@pytest.mark.slow
def test_a_game_by_lines(tmp_path: Path) -> None:
    referee = LineReferee(generate(3, size=10), 0, 6)
    limits = ("--limit-ms", "5000", "--first-ms", "5000")
    referee.play(on("windows", "vindibot", "stdio", "seed", "--rounds", "6", *limits), tmp_path)
    assert referee.exit_code == 0, referee.errors
    assert len(referee.answers) == 6
    assert referee.errors.count(WARNING) == 1


@pytest.mark.slow
@on_each_system
async def test_a_server_and_a_game_on_it(tmp_path: Path, system: str) -> None:
    server = await asyncio.create_subprocess_exec(
        *on(system, "vindibot", "serve", "--port", "0", "--any-key", "--db", "games.db"),
        cwd=tmp_path,
        env=around(tmp_path),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        url = (await line_with(server, "serving on")).split()[2]
        done = await asyncio.to_thread(run_on, system, tmp_path, "play", "--server", url, "--rounds", "5", "--display", "none")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "game 1: finished" in done.stdout
        second = await asyncio.to_thread(run_on, system, tmp_path, "serve", "--port", "0", "--db", "games.db")
        assert second.returncode != 0
        assert "another vindibot server uses this file" in second.stderr
        server.send_signal(signal.SIGINT)
        said = await ended(server)
        assert server.returncode == 0, said
    finally:
        if server.returncode is None:
            server.kill()
            await server.wait()


@pytest.mark.slow
@on_each_system
def test_the_doctor_says_what_is_missing(tmp_path: Path, system: str) -> None:
    done = run_on(system, tmp_path, "doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "; traits run in the process of the command" in done.stdout


@pytest.mark.slow
@on_each_system
def test_the_tests_of_a_new_project(tmp_path: Path, system: str) -> None:
    assert run_on(system, tmp_path, "init", "mybot").returncode == 0
    done = run_on(system, tmp_path / "mybot", "-p", "no:cacheprovider", module="pytest")
    assert done.returncode == 0, done.stdout
    assert "8 passed, 1 warning" in done.stdout
    assert WARNING in done.stdout


@pytest.mark.slow
@on_each_system
def test_a_trait_that_hangs(tmp_path: Path, system: str) -> None:
    """The game goes on by the fallback move, `turn` asks the other traits, and `check_trait` reports the trait."""
    (tmp_path / "hangs.py").write_text(HANGS)
    (tmp_path / "hangs.toml").write_text('[traits.hangs]\nuse = "hangs:Hangs"\n[traits.mine-finder]\n')
    done = run_on(system, tmp_path, "play", "--bot", "hangs.toml", "--rounds", "3", "--display", "none")
    assert done.returncode == 0, done.stdout + done.stderr
    recording = read_recording(recordings(tmp_path)[0])
    assert recording.outcome is not None
    assert recording.outcome.reason == "finished"
    assert all(turn.ballot.margin_ms > 0 and turn.ballot.fallback for turn in recording.turns)
    done = run_on(system, tmp_path, "turn", "last", "--turn", "4", "--limit-ms", "1500")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hangs: late: no answer after 1.5 s" in done.stdout
    assert "mine-finder: late" not in done.stdout
    (tmp_path / "test_hangs.py").write_text(
        "from hangs import Hangs\nfrom vindibot.testing import check_trait\ndef test_it(): check_trait(Hangs())\n"
    )
    done = run_on(system, tmp_path, "-p", "no:cacheprovider", "test_hangs.py", module="pytest")
    assert done.returncode == 1
    assert "it hung: it did not answer within 6 s" in done.stdout
