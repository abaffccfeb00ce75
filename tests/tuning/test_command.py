"""``vindibot tune play`` as a command."""

from __future__ import annotations

import signal
import subprocess
import time
import tomllib
from pathlib import Path

import pytest

from tests.support.commands import command, environment, invoke, run
from vindibot.base import startup
from vindibot.config.bots import load_bot

SMALL = ["--rounds", "12", "--map", "10-1", "--workers", "1", "--batch", "1", "--seed", "2"]
BOT = """
name = "small"
extends = "seed"
[traits.combat]
weight = 200
[traits.tavern-finder]
weight = 0.8
"""


def tune(folder: Path, *words: object) -> tuple[int, str]:
    return invoke(folder, "tune", *words)


def test_a_bot_is_tuned(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(BOT)
    words = ["small.toml", "--parameters", "traits.combat.weight", "--parameters", "traits.tavern-finder.weight", "--games", 24]
    code, output = tune(tmp_path, "play", *words, "--nodes", 100, "--rival", "sparring/miner", *SMALL)
    assert code == 0, output
    assert "tavern-finder.weight" in output
    assert "test it with: vindibot arena --match small-tuned.toml small --blocks 400 --sprt-stop\n" in output
    changed = {spec.label: spec.weight for spec in load_bot(str(tmp_path / "small-tuned.toml")).traits}
    assert changed["combat"] != 200
    assert changed["tavern-finder"] != 0.8
    assert changed["look-ahead"] == 1
    assert "<svg" in (tmp_path / "small.study.html").read_text()
    # the study is complete: nothing is played again, and the same bot is written
    bot = (tmp_path / "small-tuned.toml").read_text()
    code, output = tune(tmp_path, "play", "--resume", "small.study.jsonl")
    assert code == 0, output
    assert (tmp_path / "small-tuned.toml").read_text() == bot
    assert tomllib.loads(bot)["extends"] == "small.toml"
    code, output = tune(tmp_path, "play", "--resume", "small.study.jsonl", "--games", 100, "--nodes", 50)
    assert code == 2
    assert "option --nodes: nodes is 50, but the study has 100" in output


@pytest.mark.slow
def test_a_bot_with_a_trait_of_its_own_is_tuned_from_another_folder(tmp_path: Path) -> None:
    assert invoke(tmp_path, "init", "mine")[0] == 0
    words = ["mine", "--parameters", "traits.*.weight", "--games", 40, "--no-rivals", "--nodes", 20]
    code, output = tune(tmp_path, "play", *words, *SMALL)
    assert code == 0, output
    bot = load_bot(tmp_path / "mine-tuned.toml")
    assert [spec.class_path for spec in bot.traits if spec.label == "coward"] == ["coward:Coward"]
    assert bot.build()


def test_wrong_words_are_refused(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(BOT)
    for words, message in (
        (["play"], "name either the bot to tune, or a study with --resume"),
        (["play", "small.toml", "--range", "traits.combat.weight=5"], "write KEY=LOW:HIGH"),
        (["play", "small.toml", "--range", "traits.combat.weight=5:5"], "the lowest value must be less than the largest one"),
        (["play", "small.toml", "--range", "traits.combat.height=1:2"], "has no number 'traits.combat.height'"),
        (
            ["play", "strong", "--range", "traits.rollout.epsilon=0:7"],
            "is not within the limits of the trait, 0 to 1",
        ),
        (["play", "small.toml", "--parameters", "traits.fight.*"], "no number that matches"),
        (["play", "small.toml", "--parameters", "traits.combat.weight"], "tuning needs at least two parameters"),
        (["play", "--resume", "missing.jsonl"], "there is no such study"),
    ):
        code, output = tune(tmp_path, *words)
        assert code == 2, output
        assert message in output


def test_the_extra_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "TUNE", ("no_such_package", "scipy"))
    code, output = tune(tmp_path, "play", "seed")
    assert code == 2
    assert "needs more packages (no_such_package): python -m pip install 'vindibot[tune]', or" in output


@pytest.mark.slow
def test_a_study_that_was_killed_or_interrupted_goes_on(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(BOT)
    study = tmp_path / "small.study.jsonl"

    def blocks() -> int:
        return study.read_text().count('"intermediate_value":') if study.exists() else 0

    words = ["tune", "play", "small.toml", "--parameters", "*.weight", "--games", "400", "--nodes", "100", "--no-rivals", *SMALL]
    for goal, number, code in ((5, signal.SIGKILL, -signal.SIGKILL), (20, signal.SIGINT, 130)):
        process = subprocess.Popen(command(*words), cwd=tmp_path, env=environment())
        while blocks() < goal:
            assert process.poll() is None
            time.sleep(0.2)
        process.send_signal(number)
        assert process.wait(60) == code
        assert goal <= blocks() < 200
        words = ["tune", "play", "--resume", study.name]
    done = run(tmp_path, *words, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "test it with: vindibot arena --match small-tuned.toml small" in done.stdout
