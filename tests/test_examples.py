"""The examples play: a trait in a package of its own, and a bot in another language."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

from tests.support.arenabots import first_game
from tests.support.commands import ended, recordings, run
from tests.support.documents import follow
from tests.support.faulty_server import Fault, FaultyServer
from tests.support.installed import shims
from tests.support.paths import TOP
from vindibot.games.files.recording import read_recording

PLUGIN, JAVASCRIPT = TOP / "examples" / "plugin", TOP / "examples" / "javascript"


# ---- The plug-in ----


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with the plug-in as an installer would leave it there: its module, and its metadata with the entry points."""
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text())["project"]
    folder = tmp_path / "packages"
    metadata = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir(parents=True)
    shutil.copy(PLUGIN / "vindibot_guard.py", folder)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = project["entry-points"].items()
    lines = [line for group, points in groups for line in (f"[{group}]", *(f"{name} = {path}" for name, path in points.items()))]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.slow
def test_a_bot_plays_with_the_trait_of_the_plugin(installed: Path, tmp_path: Path) -> None:
    shutil.copy(PLUGIN / "guarded.toml", tmp_path)
    words = ["play", "--bot", "guarded.toml", "--rounds", "3", "--display", "none", "--in-process"]
    done = run(tmp_path, *words, PYTHONPATH=f"{TOP}{os.pathsep}{installed}")
    assert done.returncode == 0, done.stderr
    (path,) = recordings(tmp_path)
    turns = read_recording(path).turns
    assert len(turns) == 3
    for turn in turns:
        (entry,) = (entry for entry in turn.ballot.entries if entry.label == "guard")
        assert (entry.weight, entry.status) == (0.5, "ok")


def environment_with_pip(folder: Path) -> Path:
    """Make an environment that has all packages of this one, and return its folder of programs."""
    venv.create(folder, with_pip=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "outside.pth").write_text("\n".join([str(TOP), *(path for path in sys.path if path.endswith("site-packages"))]))
    programs = folder / "bin"
    vindibot = programs / "vindibot"
    vindibot.write_text(f'#!/bin/sh\nexec {shlex.quote(str(programs / "python"))} -m vindibot "$@"\n')
    vindibot.chmod(0o755)
    return programs


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_readme_of_the_plugin(tmp_path: Path) -> None:
    """Its commands install the package, test it and play with it."""
    folder = tmp_path / "plugin"
    shutil.copytree(PLUGIN, folder, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    programs = environment_with_pip(tmp_path / "environment")
    around = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    around |= {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "VINDIBOT_ROUNDS": "10"}
    build = ["pip", "wheel", "--no-deps", "."]
    built = subprocess.run(build, cwd=folder, env=around, capture_output=True, text=True, check=False)
    if "No matching distribution found for hatchling" in built.stderr:
        pytest.skip("packages cannot be fetched here")
    printed = follow((folder / "README.md").read_text(), folder, around)
    assert "vindibot_guard:Guard" in printed["vindibot behaviours guard"]
    assert "9 passed" in printed["python -m pytest"]
    (path,) = recordings(folder)
    assert len(read_recording(path).turns) == 10


# ---- The bot in JavaScript ----


def node() -> str:
    """Return the program that runs JavaScript: that of the system, or the one that comes with the browser's driver."""
    driver = pytest.importorskip("playwright._impl._driver")
    return shutil.which("node") or driver.compute_driver_executable()[0]


@pytest.mark.slow
def test_the_bot_in_javascript_plays_by_both_protocols() -> None:
    program = shlex.quote(node())
    lines = f"lines=stdio:{program} {shlex.quote(str(JAVASCRIPT / 'lines.js'))}"
    http = f"http=http:{program} {shlex.quote(str(JAVASCRIPT / 'http.js'))} {{server}} {{key}}"
    game = first_game(lines, http, "stay", "stay", rounds=40, limits__move_ms=20_000)
    assert [(seat.outcome.reason, seat.moves) for seat in game.seats] == [("finished", 40)] * 4, game
    gold = {seat.bot: seat.gold for seat in game.seats}
    assert min(gold["lines"], gold["http"]) > 40, gold


async def test_the_bot_in_javascript_repeats_requests() -> None:
    joins = [Fault("status", body="The server is full"), Fault("reset"), Fault("status", status=521)]
    moves = {2: Fault("status"), 4: Fault("reset")}
    async with FaultyServer(joins=dict(enumerate(joins, 1)), moves=moves, plies=24, understands_turn=True) as server:
        words = (node(), str(JAVASCRIPT / "http.js"), server.url, "k3ysecr8")
        process = await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        out = await ended(process)
    assert process.returncode == 0, out
    assert (server.joins, [turn for turn, _ in server.moves]) == (4, [0, 4, 8, 12, 16, 20])


@pytest.mark.slow
def test_the_readme_of_the_bot_in_javascript(tmp_path: Path) -> None:
    folder = tmp_path / "javascript"
    shutil.copytree(JAVASCRIPT, folder)
    programs = shims(tmp_path / "bin")
    (programs / "node").symlink_to(node())
    printed = follow(
        (folder / "README.md").read_text(), folder, {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    )
    assert len(printed) == 2
    for text in printed.values():
        assert "How games ended" not in text, f"a bot forfeited:\n{text}"
