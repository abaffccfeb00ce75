"""A trait that fails is named, with the line of its own code and the command that stops there; a loop without an end is ended."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.commands import recordings, run
from vindibot.cli.main import main
from vindibot.config.files import shipped
from vindibot.devtools import bench as stopwatch
from vindibot.games.files.recording import read_recording

TRAITS = """\
import ctypes
import os
import numba
import numpy as np
from behaviours import Behaviour, View, Votes
from helper import half

class Divides(Behaviour):
    def vote(self, view: View) -> Votes:
        mine = 12
        return half(mine)

class Asks(Behaviour):
    def vote(self, view: View) -> Votes:
        first = 1
        return np.concatenate([[first], [[2.0]]])

class Mumbles(Behaviour):
    def vote(self, view: View) -> Votes:
        return "North"

class Loops(Behaviour):
    def vote(self, view: View) -> Votes:
        count = 0
        while True:
            count += 1

@numba.njit
def forever(n):
    while n >= 0:
        n = (n * 1103515245 + 12345) & 0x7FFFFFFF
    return n

class Compiled(Behaviour):
    def vote(self, view: View) -> Votes:
        return forever(1)

class Crashes(Behaviour):
    def vote(self, view: View) -> Votes:
        ctypes.string_at(0)

class Quits(Behaviour):
    def vote(self, view: View) -> Votes:
        os._exit(3)

class Breaks(Behaviour):
    def vote(self, view: View) -> Votes:
        count = 6
        breakpoint()
        return 1

class Fine(Behaviour):
    def vote(self, view: View) -> Votes:
        print("asked")
        return 1
"""
HELPER = "def half(amount):\n    nothing = 0\n    return amount / nothing\n"
#: A limit that no trait of a busy machine exceeds.
UNHURRIED = ["--limit-ms", "30000"]
SAMPLE = str(shipped("project/recordings/sample.jsonl"))


def line_of(text: str) -> int:
    return TRAITS.splitlines().index(text) + 1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(TRAITS)
    (tmp_path / "helper.py").write_text(HELPER)
    for name in re.findall(r"^class (\w+)", TRAITS, re.MULTILINE):
        (tmp_path / f"{name.lower()}.toml").write_text(
            f'[traits.{name.lower()}]\nuse = "mine:{name}"\n[traits.stay]\nweight = 2\n'
        )
    return tmp_path


def turn(folder: Path, bot: str, *more: str, keys: str = "") -> subprocess.CompletedProcess[str]:
    return run(folder, "turn", SAMPLE, "--turn", "0", "--bot", f"{bot}.toml", *more, keys=keys)


@pytest.mark.slow_faults
def test_a_game_names_what_failed_and_how_to_see_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["--bot", "divides.toml", "--rounds", "5", "--workers", "1", "--display", "none", "--seed", "1", *UNHURRIED]
    done = run(folder, "play", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    (told,) = [line for line in lines if "to see it" in line]
    said, how = told.split("; to see it: ")
    first = read_recording(recordings(folder)[0]).turns[0].turn
    assert said == f"the trait divides failed on turn {first}: ZeroDivisionError: division by zero (helper.py:3)"
    (last,) = [line for line in lines if line.startswith("game 1: finished")]
    assert last.endswith("; benched: divides")
    # The command is what it says, and stops where it raised.
    words = shlex.split(how)
    assert words[0] == "vindibot"
    stopped = run(folder, *words[1:], keys="p 'amount is', amount\nu\np 'mine is', mine\nq\n")
    assert f"{folder / 'helper.py'}(3)half()" in stopped.stdout, stopped.stdout + stopped.stderr
    assert "('amount is', 12)" in stopped.stdout
    assert "('mine is', 12)" in stopped.stdout
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    explained = CliRunner().invoke(main, ["explain", words[2], "--turn", str(first)])
    assert f"to see divides fail: {how}\n" in explained.output


@pytest.mark.slow_faults
def test_the_command_names_a_bot_that_lies_elsewhere(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (folder / "divides.toml").write_text('extends = "stay"\n[traits.divides]\nuse = "mine:Divides"\n')
    words = ["--rounds", "1", "--workers", "1", "--display", "none", "--seed", "1", *UNHURRIED]
    done = run(tmp_path_factory.mktemp("elsewhere"), "play", "--bot", f"{folder}/divides.toml", *words)
    how = rf"to see it: vindibot turn \S+ --turn 0 --bot {re.escape(str(folder))}/divides\.toml --trait divides --pdb\n"
    assert re.search(how, done.stdout), done.stdout


@pytest.mark.slow_faults
@pytest.mark.parametrize("where", [["--workers", "1"], ["--in-process"]])
def test_a_short_game_names_a_loop_without_an_end(folder: Path, where: list[str]) -> None:
    words = ["--bot", "loops.toml", "--rounds", "1", "--limit-ms", "400", "--display", "none", "--log-level", "error", *where]
    done = run(folder, "play", *words, timeout=30)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^recording: ", done.stdout, re.MULTILINE), done.stdout
    failed = r"^the trait loops failed on turn \d+: it was still running when the time of the turn was over; to see it"
    assert len(re.findall(failed, done.stdout, re.MULTILINE)) == 1


@pytest.mark.slow_faults
def test_the_debugger_stops_in_a_loop_and_where_nothing_raises(folder: Path) -> None:
    done = turn(folder, "loops", "--limit-ms", "300", "--trait", "loops", "--pdb", keys="p 'counted', count > 0\nq\n")
    assert "('counted', True)" in done.stdout, done.stdout + done.stderr
    assert "loops: late: no answer after 0.3 s (mine.py:" in done.stdout
    done = turn(folder, "fine", "--trait", "fine", "--pdb", keys="p 'turn', view.turn\nc\n")
    assert f"{folder / 'mine.py'}({line_of('class Fine(Behaviour):') + 1})vote()" in done.stdout, done.stdout + done.stderr
    assert "('turn', 0)" in done.stdout


@pytest.mark.slow_faults
@pytest.mark.parametrize(
    "words",
    [
        ("play", "--bot", "compiled.toml", "--rounds", "1", "--display", "none", "--in-process"),
        ("turn", SAMPLE, "--turn", "0", "--bot", "compiled.toml", "--trait", "compiled", "--pdb"),
    ],
)
def test_a_compiled_loop_in_the_process_of_the_program_ends_it_and_is_named(folder: Path, words: tuple[str, ...]) -> None:
    done = run(folder, *words, "--limit-ms", "6000")  # the limit leaves time to compile the loop
    assert done.returncode == 1, done.stdout + done.stderr
    assert f'File "{folder / "mine.py"}", line {line_of("        return forever(1)")} in vote' in done.stderr


def test_bench_names_a_loop_and_does_not_ask_it_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(stopwatch, "LIMIT", 0.3)
    result = CliRunner().invoke(main, ["bench", "loops.toml", SAMPLE, "--turns", "5"])
    assert result.exit_code == 0, result.output
    rows = {row.split()[0]: row.split()[1] for row in result.output.splitlines() if row.strip()}
    assert (rows["loops"], rows["stay"]) == ("1", "5")
    assert re.search(
        r"^loops: no answer after 0\.3 s \(mine\.py:\d+\), turn \d+ of .*; it was not asked again$", result.output, re.MULTILINE
    )
    assert re.search(r"^to see loops fail: vindibot turn .* --bot loops\.toml --trait loops --pdb$", result.output, re.MULTILINE)


def test_what_does_not_come_back_is_ended_and_named_with_its_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in a library, no vote, a loop, a loop in machine code, the end of the process."""
    monkeypatch.chdir(folder)
    call, loop = line_of("        return forever(1)"), line_of("        while True:")
    for bot, seen in [
        (
            "asks",
            rf"error: .*same number of dimensions.* \(mine\.py:{line_of('        return np.concatenate([[first], [[2.0]]])')}\)",
        ),
        ("mumbles", rf"void: .* \(mine\.py:{line_of('class Mumbles(Behaviour):') + 1}\)"),
        ("loops", rf"late: no answer after 0\.3 s \(mine\.py:({loop}|{loop + 1})\)"),
        ("compiled", rf"late: no answer after 0\.3 s \(mine\.py:{call}\)"),
        ("crashes", rf"killed: its process ended with signal SIGSEGV \(mine\.py:{line_of('        ctypes.string_at(0)')}\)"),
        ("quits", "killed: its process ended with exit code 3"),
    ]:
        result = CliRunner().invoke(main, ["turn", SAMPLE, "--turn", "0", "--bot", f"{bot}.toml", "--limit-ms", "300"])
        assert result.exit_code == 0, result.output
        assert re.search(f"^{bot}: {seen}$", result.output, re.MULTILINE), result.output
        assert f"to see {bot} fail: vindibot turn {SAMPLE} --turn 0 --bot {bot}.toml --trait {bot} --pdb\n" in result.output
        assert "to see stay" not in result.output
        assert re.search(r"^stay +(now|same) ", result.output, re.MULTILINE), "the others are asked all the same"


@pytest.mark.slow_faults
def test_a_breakpoint_starts_the_debugger_without_an_option(folder: Path) -> None:
    done = turn(folder, "breaks", keys="p 'counted', count + 1\nc\n")
    assert "('counted', 7)" in done.stdout, done.stdout + done.stderr
    assert re.search(r"^breaks +now ", done.stdout, re.MULTILINE)
