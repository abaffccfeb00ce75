"""`vindibot config`: the effective settings, their origins, and schemas."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.support.commands import printed
from vindibot.config.bots import load_bot
from vindibot.config.files import shipped
from vindibot.config.load import load_play
from vindibot.devtools.scaffold import write_project


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    return tmp_path


def config(*words: str, code: int = 0, **environment: str) -> str:
    return printed("config", *words, code=code, **environment)


def where(said: str, key: str) -> tuple[str, str]:
    """The value of a key, and where it comes from."""
    (line,) = [line for line in said.splitlines() if line.startswith(f"{key} = ")]
    value, _, origin = line.partition("  # ")
    return value.partition(" = ")[2].strip(), origin


def test_the_output_is_a_file_with_the_same_effect(here: Path) -> None:
    (here / "own.toml").write_text('map = "m1"\nseed = 7\ndisplay = "none"\n[pool]\nnodes = 100\n')
    (here / "again.toml").write_text(config("own.toml"))
    again, own = (load_play(name).settings.model_dump(exclude={"bot"}) for name in ("again.toml", "own.toml"))
    assert again == own
    assert config("again.toml").count("again.toml, line") == len(config("own.toml").splitlines())


def test_a_key_is_not_shown(here: Path) -> None:
    (here / "own.toml").write_text('key = "verysecret"\nserver = "http://127.0.0.1:9"\n')
    said = config("own.toml")
    assert where(said, "key") == ('"***"', "own.toml, line 1")
    assert "verysecret" not in said
    assert where(config(VINDIBOT_KEY="othersecret"), "key") == ('"***"', "environment variable VINDIBOT_KEY")


def test_a_bot_is_shown_with_all_it_inherits(here: Path) -> None:
    write_project(here)
    said = config("bot.toml")
    assert config("--bot", "bot.toml") == said
    lines = (here / "bot.toml").read_text().splitlines()
    number = next(number for number, line in enumerate(lines, 1) if line.startswith("fear"))
    assert where(said, "fear") == ("0.5", f"bot.toml, line {number}")
    assert where(said, "beer_push")[1].endswith("seed.toml, line 12")
    assert where(said, "depth") == ("7", "default")
    (here / "flat.toml").write_text(said)
    whole, flat = load_bot("bot.toml"), load_bot("flat.toml")
    assert [spec.build() for spec in flat.traits] == [spec.build() for spec in whole.traits]
    assert [(spec.label, spec.weight) for spec in flat.traits] == [(spec.label, spec.weight) for spec in whole.traits]
    assert "traits.look-ahead" in config("seed"), "a bot that ships, by name"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing"], "there is no configuration"),
        (["seed", "--bot", "seed"], "give one of them"),
        (["--for", "play", "bad.toml"], "roundz is an unknown key (did you mean 'rounds'?)"),
        (["--schema", "cake"], "Invalid value"),
    ],
)
def test_invalid_requests(here: Path, words: list[str], message: str) -> None:
    (here / "bad.toml").write_text("roundz = 3\n")
    assert message in config(*words, code=2)


# ---- Schemas ----


def schema(*words: str) -> Any:
    return jsonschema_rs.validator_for(json.loads(config("--schema", *words)))


def data(text: str) -> Any:
    return tomllib.loads(text)


@pytest.mark.parametrize(
    ("kind", "name"), [("bot", "bots/seed"), ("bot", "bots/malvert"), ("play", "training"), ("play", "arena")]
)
def test_files_that_ship_fit_their_schema(kind: str, name: str) -> None:
    schema(kind).validate(data(shipped(f"{name}.toml").read_text()))


def test_the_effective_configuration_fits_its_schema() -> None:
    for kind in ("play", "arena", "serve"):
        said = data("\n".join(line for line in config("--for", kind).splitlines() if ' = ""' not in line))
        schema(kind).validate(said)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("[traits.combat]\nweight = 2\nduel = true", True),
        ("[traits.combat]\nuse = 'harvest'\ntake = 3", True),
        ("[traits.own]\nuse = 'mine:Own'\nwhatever = 3", True),
        ("extends = 'seed'\n[traits.combat]\nenabled = false", True),
        ("[traits.combat]\nduell = true", False),
        ("[traits.combat]\nduel = 1", False),
        ("[traits.fights]\nuse = 'combat'\ntake = 3", False),
        ("[traits.look-ahead]\ndepth = 10", False),
        ("name = ''", False),
    ],
)
def test_the_schema_of_bots(text: str, fits: bool) -> None:
    assert schema("bot").is_valid(data(text)) == fits


def test_a_trait_of_the_user_is_in_the_schema(here: Path) -> None:
    write_project(here)
    own = schema("bot", "--bot", "bot.toml")
    own.validate(data((here / "bot.toml").read_text()))
    assert not own.is_valid(data("[traits.coward]\nuse = 'coward:Coward'\nfear = 11"))


def test_the_schema_of_settings() -> None:
    play = schema("play")
    assert play.is_valid({"extends": "training", "time": {"limit_ms": "server"}, "seed": "random"})
    for wrong in ({"roundz": 1}, {"rounds": 0}, {"time": {"limit_ms": "fast"}}, {"display": "colour"}):
        assert not play.is_valid(wrong), wrong
