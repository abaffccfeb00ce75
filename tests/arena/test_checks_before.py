"""`vindibot arena --check`: programs are checked before the first game, and the report shows what was found."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.commands import run
from vindibot.arena.checks.before import CheckedProgram, checks_path, read_checks
from vindibot.arena.checks.program import CheckResult

#: A program with the line protocol. It ends on maps above 20 x 20.
SMALL_MAPS = """
size = int(input())
board = [input() for _ in range(size)]
me = int(input())
while True:
    for _ in range(int(input())):
        input()
    if size > 20:
        raise SystemExit("<b>too large</b>")
    print("WAIT", flush=True)
"""


@pytest.mark.slow
def test_what_fails_is_told_and_stands_in_the_report(tmp_path: Path) -> None:
    (tmp_path / "small.py").write_text(SMALL_MAPS)
    words = ("arena", f"small=stdio:{sys.executable} small.py", "random", "stay", "seed", "--rounds", "3", "--blocks", "1")
    more = ("--size", "10", "--seed", "1", "--check", "--results", "cup.jsonl")
    done = run(tmp_path, *words, *more)
    assert done.returncode == 0, done.stdout
    assert "checking small in short games" in done.stdout
    assert (
        "small fails 1 of 7 checks: sizes: crash: it ended with exit code 1: <b>too large</b> before its first move"
        in done.stdout
    )
    (checked,) = read_checks(tmp_path / "cup.jsonl")
    assert [result.check for result in checked.failed] == ["sizes"]
    report = (tmp_path / "cup.html").read_text()
    assert "Checks of programs before the first game" in report
    assert "&lt;b&gt;too large" in report
    assert "<b>too large" not in report
    again = run(tmp_path, *words, "--size", "10", "--seed", "1", "--check", "--results", "other.jsonl", "--no-report")
    assert again.returncode == 0, again.stdout


@pytest.mark.slow
def test_a_tournament_without_programs_has_no_checks(tmp_path: Path) -> None:
    done = run(
        tmp_path, "arena", "random", "stay", "--rounds", "2", "--blocks", "1", "--map", "m1", "--check", "--results", "a.jsonl"
    )
    assert done.returncode == 0, done.stdout
    assert "checking" not in done.stdout
    assert not checks_path(tmp_path / "a.jsonl").exists()


@pytest.mark.slow
def test_a_file_of_somebody_else_stays(tmp_path: Path) -> None:
    (tmp_path / "a.checks.json").write_text("mine")
    game = ("--rounds", "2", "--blocks", "1", "--map", "m1")
    words = ("arena", "x=stdio:false", "random", *game, "--check", "--results", "a.jsonl")
    done = run(tmp_path, *words)
    assert done.returncode == 2
    assert "a.checks.json" in done.stderr
    assert (tmp_path / "a.checks.json").read_text() == "mine"


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"made_by": 1, "programs": []}', "\xff"])
def test_a_damaged_file_is_no_result(tmp_path: Path, text: str) -> None:
    checks_path(tmp_path / "a.jsonl").write_text(text, "latin-1")
    assert read_checks(tmp_path / "a.jsonl") == ()


def test_the_verdict() -> None:
    passes, warns = CheckResult("start", "it starts"), CheckResult("time", "it is quick", "slow", "hurry")
    fails = CheckResult("sizes", "all sizes", "it ended", "look", fails=True)
    assert CheckedProgram("a", (passes, warns)).verdict == "a passes 2 checks"
    assert CheckedProgram("a", (passes, fails)).verdict == "a fails 1 of 2 checks: sizes: it ended"
