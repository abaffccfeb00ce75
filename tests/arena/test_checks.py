"""`vindibot check`: good programs pass, and each broken one fails the check that is about its mistake."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.support.arenabots import TOP, bad_trait, line_bot, nobody_left, web_bot
from tests.support.commands import run as run_command
from tests.support.documents import blocks
from tests.support.paths import BOTS
from vindibot.cli.main import main


def check(bot: str, *options: str) -> Result:
    with nobody_left():
        return CliRunner().invoke(main, ["check", bot, "--rounds", "4", *options])


def beginner(mode: str, *, web: bool = False) -> str:
    words = f"'{sys.executable}' '{BOTS / 'beginner_bot.py'}' {'web ' if web else ''}'{mode}'"
    return f"{'http' if web else 'stdio'}:{words}"


def findings(run: Result) -> dict[str, str]:
    """The first word of each finding, by the name of the check."""
    lines = [line.split() for line in run.output.splitlines() if line.startswith("  ") and not line.startswith("   ")]
    return {words[1]: words[0] for words in lines}


def test_a_program_that_does_not_answer_fails_at_the_start() -> None:
    run = check(line_bot("silent"), "--start-s", "0.5", "--move-ms", "200")
    assert run.exit_code == 1
    assert findings(run) == {"start": "FAILS"}, "the other checks are left out"
    assert "stall: no answer within 0.5 s on its first turn, in a game on a 10 x 10 map, as hero 1" in run.output
    assert "flush the output" in run.output
    assert run.output.splitlines()[-1] == "line_bot fails 1 of 1 check"


def test_a_program_that_does_not_start_says_what_to_do(tmp_path: Path) -> None:
    script = tmp_path / "bot.sh"
    script.write_text("#!/nowhere/interpreter\n")
    script.chmod(0o755)
    for bot, words in (
        (f"stdio:{script}", ("cannot be started", "a script needs a first line such as #!/bin/sh, and chmod +x")),
        (web_bot("dies at start"), ("cannot find my settings",)),
    ):
        run = check(bot)
        assert (run.exit_code, findings(run)) == (1, {"start": "FAILS"})
        assert all(text in run.output for text in words)


def test_a_file_of_a_program_says_how_to_name_a_program(tmp_path: Path) -> None:
    (tmp_path / "greedy.js").write_text("console.log('WAIT');\n")
    with contextlib.chdir(tmp_path):
        done = check("greedy.js")
    assert done.exit_code == 2
    assert "a program is named by its protocol and its command: 'stdio:node greedy.js' or 'http:node greedy.js'" in done.output


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("bot", ["stdio", "http"])
def test_the_programs_of_the_examples_pass(bot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if bot == "stdio":
        (script,) = (
            block for block in blocks((TOP / "docs" / "other-languages.md").read_text(), "sh") if "miner.sh" in block.before
        )
        (tmp_path / "miner.sh").write_text(script.text)
        run = check(f"stdio:sh {tmp_path / 'miner.sh'}", "--move-ms", "20000")
    else:
        greedy = TOP / "config" / "tournaments" / "programs" / "greedy.py"
        run = check(f"http:'{sys.executable}' '{greedy}' {{server}} {{key}}", "--move-ms", "20000")
    assert run.exit_code == 0, run.output
    assert set(findings(run).values()) == {"ok"}, run.output


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("mode", "failed", "words"),
    [
        ("no flush", "start", "stall: no answer within"),
        ("no line end", "start", "stall: no answer within"),
        ("misspells", "start", "illegal: answered 'UP'"),
        ("explains first", "start", "illegal: answered 'hero at"),
        ("explains later", "start", "it wrote output that belongs to no turn: 'I wait'"),
        ("thinks long", "start", "timeout: no answer in 1000 ms on turn 8, after 2 moves"),
        ("always the first", "seats", "I am hero 0"),
        ("small maps", "sizes", "in a game on a 22 x 22 map, as hero 1"),
        ("begins at home", "middle", "in a game that begins on turn 600, as hero 1"),
        ("needs a mine", "middle", "in a game in which all mines belong to hero 1"),
        ("plain names", "names", "UnicodeEncodeError"),
        ("searches the text", "names", "a game that is finished and not finished"),
    ],
)
def test_broken_programs(mode: str, failed: str, words: str) -> None:
    run = check(beginner(mode, web=failed == "names"), *([] if failed == "names" else ["--start-s", "5"]))
    assert run.exit_code == 1
    found = findings(run)
    assert found[failed] == "FAILS", run.output
    assert words in run.output
    before = list(found)[: list(found).index(failed)]
    assert all(found[name] == "ok" for name in before), run.output


@pytest.mark.slow
def test_a_hero_that_never_moves_is_a_warning() -> None:
    run = check(beginner("misspells", web=True))
    assert run.exit_code == 0, run.output
    assert findings(run)["moves"] == "warns"
    assert "send dir=Stay, North, South, East or West" in run.output
    assert run.output.splitlines()[-1] == "beginner_bot passes 7 checks, with 1 warning"


@pytest.mark.slow
def test_a_program_is_checked_before_a_tournament(tmp_path: Path) -> None:
    small = beginner("small maps").replace("stdio:", "small=stdio:")
    words = ("arena", small, "random", "stay", "seed", "--rounds", "3", "--blocks", "1")
    done = run_command(tmp_path, *words, "--size", "10", "--seed", "1", "--check", "--results", "cup.jsonl")
    assert done.returncode == 0, done.stdout
    assert "checking small in short games" in done.stdout
    assert "crash: it ended with exit code 1: " in done.stdout
    assert "small fails 1 of 7 checks" in done.stdout


@pytest.mark.slow
def test_the_traits_of_a_bot_file_are_checked(tmp_path: Path) -> None:
    assert check("random").exit_code == 0
    run = check(bad_trait(tmp_path, "Raises"))
    assert run.exit_code == 1
    assert "FAILS" in run.output
    assert "what to do: " in run.output
