"""Environment variables override the configuration of every command that has one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from vindibot.cli.config import COMMANDS
from vindibot.cli.main import main
from vindibot.devtools.effective import _MODELS

pytestmark = pytest.mark.usefixtures("here")


def run(*words: str, **environment: str) -> Result:
    return CliRunner().invoke(main, words, env=environment)


@pytest.mark.parametrize(
    ("command", "key", "variable", "value"),
    [
        ("play", "rounds", "ROUNDS", "7"),
        ("arena", "limits.move_ms", "LIMITS__MOVE_MS", "7"),
        ("arena", "bots", "BOTS", '["seed", "stay"]'),
        ("serve", "port", "PORT", "7"),
        ("challenge", "rounds", "ROUNDS", "7"),
        ("league-new", "days", "DAYS", "7"),
        ("tune-play", "games", "GAMES", "77"),
    ],
)
def test_a_variable_overrides_the_file(command: str, key: str, variable: str, value: str) -> None:
    other = '["random"]' if value.startswith("[") else "66"
    Path("mine.toml").write_text(f"{key} = {other}\n")
    said = run("config", "mine.toml", "--for", command, **{f"VINDIBOT_{variable}": value}).output
    (line,) = [line for line in said.splitlines() if line.startswith(f"{key} = ")]
    assert line.partition("  #")[0].strip() == f"{key} = {value}"
    assert line.endswith(f"# environment variable VINDIBOT_{variable}")


def test_all_commands_with_settings_can_be_shown() -> None:
    assert set(COMMANDS) == set(_MODELS)
    for command in COMMANDS:
        Path("same.toml").write_text(run("config", "--for", command).output)
        again = run("config", "same.toml", "--for", command)
        assert again.exit_code == 0, again.output
        assert all("same.toml, line" in line or line.startswith("# ") for line in again.output.splitlines())


def test_the_arena_plays_by_the_variables() -> None:
    words = ("arena", "stay", "random", "--no-report", "--results", "cup.jsonl", "--blocks", "1")
    done = run(*words, VINDIBOT_ROUNDS="2", VINDIBOT_BLOCKS="9", VINDIBOT_WORKERS="1", VINDIBOT_SEED="5", VINDIBOT_BOT="seed")
    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in Path("cup.jsonl").read_text().splitlines()]
    assert {line["rounds"] for line in lines} == {2}
    assert {line["block"] for line in lines} == {0}, "an option overrides a variable"
    assert "seed = 5" in Path("cup.effective.toml").read_text()


@pytest.mark.parametrize("words", [("arena", "stay", "random"), ("serve",), ("challenge",), ("doctor",), ("play",)])
def test_a_wrong_variable_is_refused_by_every_command(words: tuple[str, ...]) -> None:
    done = run(*words, VINDIBOT_RUONDS="3")
    assert done.exit_code == 2
    assert "environment variable VINDIBOT_RUONDS is an unknown setting (did you mean 'VINDIBOT_ROUNDS'?)" in done.output


@pytest.mark.parametrize(
    ("words", "variable", "value", "message"),
    [
        (("arena", "stay", "random"), "BLOCKS", "nan", "VINDIBOT_BLOCKS: blocks must be a whole number"),
        (("arena", "stay", "random"), "BLOCKS", "9" * 5000, "VINDIBOT_BLOCKS: blocks must be a whole number"),
        (("arena",), "BOTS", "seed", "VINDIBOT_BOTS: bots must be a list"),
        (("challenge",), "LIMIT_MS", "1", "VINDIBOT_LIMIT_MS: limit_ms must be at least 100"),
        (("serve",), "PORT", "-1", "VINDIBOT_PORT: port must be at least 0"),
        (("tune", "play", "seed"), "RANGES", '{"traits.x.weight" = [1, inf]}', "VINDIBOT_RANGES"),
        (("arena", "stay", "random"), "WORKERS", "0", "VINDIBOT_WORKERS: workers must be at least 1"),
    ],
)
def test_a_wrong_value_of_a_variable(words: tuple[str, ...], variable: str, value: str, message: str) -> None:
    done = run(*words, **{f"VINDIBOT_{variable}": value})
    assert done.exit_code == 2, done.output
    assert message in done.output
    assert len(done.output.splitlines()) == 1
