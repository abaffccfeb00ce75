"""``vindibot tune`` as a command: a bot is tuned, promoted or refused."""

from __future__ import annotations

import contextlib
import json
import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from vindibot.arena.results import read_results
from vindibot.base.errors import UsageError
from vindibot.cli.main import main
from vindibot.config.bots import load_bot
from vindibot.tuning import extra
from vindibot.tuning.attempts import AttemptFile, PromotionAttempt

RIVALS = ("rival-x.jsonl", "rival-x-2.jsonl")
SMALL = ["--rounds", "12", "--map", "10-1", "--workers", "1"]
BOT = """
name = "small"
extends = "seed"
[traits.combat]
weight = 200
[traits.tavern-finder]
weight = 0.8
"""


def tune(folder: Path, *words: object) -> tuple[int, str]:
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "100")
        result = CliRunner().invoke(main, ["tune", *map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def test_a_bot_is_tuned(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(BOT)
    words = ["small.toml", "--parameters", "traits.combat.weight", "--parameters", "traits.tavern-finder.weight", "--games", 40]
    code, said = tune(tmp_path, "play", *words, "--alpha", 1, "--seed", 2, "--nodes", 100, "--rival", "sparring/miner", *SMALL)
    assert code == 0, said
    assert "tavern-finder.weight" in said
    assert "test it with: vindibot tune promote small-tuned.toml small\n" in said
    bot = load_bot(str(tmp_path / "small-tuned.toml"))
    changed = {spec.label: spec.weight for spec in bot.traits}
    assert changed["combat"] != 200
    assert changed["tavern-finder"] != 0.8
    assert changed["look-ahead"] == 1
    page = (tmp_path / "small.study.html").read_text()
    assert "Screening" in page
    assert "<svg" in page
    assert "Importance" not in page, "there are too few trials"
    # the study is complete: nothing is played again, and the same bot is written
    before = (tmp_path / "small.study.jsonl").read_bytes()
    code, said = tune(tmp_path, "play", "--resume", "small.study.jsonl")
    assert code == 0, said
    assert (tmp_path / "small.study.jsonl").read_bytes() == before
    assert tomllib.loads((tmp_path / "small-tuned.toml").read_text())["extends"] == "small.toml"


@pytest.mark.slow
def test_a_bot_with_a_trait_of_its_own_is_tuned_from_another_folder(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        assert CliRunner().invoke(main, ["init", "mine"]).exit_code == 0
    words = ["mine", "--parameters", "traits.coward.weight", "--screening", 0, "--games", 40, "--no-rivals", "--nodes", 20]
    code, said = tune(tmp_path, "play", *words, "--seed", 3, *SMALL)
    assert code == 0, said
    bot = load_bot(tmp_path / "mine-tuned.toml")
    assert [spec.class_path for spec in bot.traits if spec.label == "coward"] == ["coward:Coward"]
    assert bot.build()


def test_wrong_words_are_refused(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(BOT)
    for words, message in (
        (["play"], "name the bot to tune"),
        (["play", "small.toml", "--range", "traits.combat.weight=5"], "write KEY=LOW:HIGH"),
        (["play", "small.toml", "--range", "traits.combat.height=1:2"], "has no number 'traits.combat.height'"),
        (
            ["play", "strong", "--range", "traits.rollout.epsilon=0:7"],
            "is not within the limits of the trait, 0 to 1",
        ),
        (["play", "small.toml", "--parameters", "traits.fight.*"], "no number that matches"),
        (["play", "--resume", "missing.jsonl"], "there is no such study"),
    ):
        code, said = tune(tmp_path, *words)
        assert code == 2, said
        assert message in said


def test_the_extra_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extra, "PACKAGES", ("no_such_package", "scipy"))
    code, said = tune(tmp_path, "play", "seed")
    assert code == 2
    assert "needs more packages (no_such_package): python -m pip install 'vindibot[tune]', or" in said


@pytest.mark.slow
def test_a_stronger_bot_is_promoted(tmp_path: Path) -> None:
    few = ["--sprt-fewest", 5, "--rival-blocks", 5, "--family-blocks", 5, "--nodes", 100, *SMALL]
    words = ["promote", "seed", "random", "--rival", "stay", *few]
    code, said = tune(tmp_path, *words)
    assert code == 0, said
    assert re.search(r"passed: seed is stronger than its parent random: LLR \+\S+ in \S+ \.\. \S+ after \d+ blocks", said)
    versions = tmp_path / "versions"
    names = ["random-1.toml", "random-2.toml", "random.attempts.jsonl", "tournament.toml"]
    assert sorted(path.name for path in versions.iterdir()) == names
    text = (versions / "random-2.toml").read_text()
    for part in ("Date: 20", "Parent: random", "Command: vindibot tune promote seed random", "Games: ", "Rating in the family"):
        assert f"# {part}" in text
    assert re.search(r"the parent at 0: \+\d+, 95 % \+\d+ \.\. \+\d+", text)
    stored, seed = load_bot(str(versions / "random-2.toml")), load_bot("seed")
    assert (stored.name, stored.version) == ("random-2", 2)
    assert [(spec.label, spec.weight, behaviour) for spec, behaviour in stored.build()] == [
        (spec.label, spec.weight, behaviour) for spec, behaviour in seed.build()
    ]
    assert tomllib.loads((versions / "tournament.toml").read_text())["bots"] == ["random-1.toml", "random-2.toml"]


@pytest.mark.slow
def test_each_attempt_of_a_family_has_new_games_and_a_smaller_level(tmp_path: Path) -> None:
    few = ["--blocks", 20, "--sprt-fewest", 5, "--sprt-elo1", 300, "--rounds", 12, "--workers", 1, "--nodes", 50]
    seeds: set[int] = set()
    maps: set[str] = set()
    levels = ("0.025 = 0.05 / (1 * 2)", "0.0083 = 0.05 / (2 * 3)", "0.0042 = 0.05 / (3 * 4)")
    candidates = ("random", "random", "stay")  # attempts with another candidate count too
    for attempt, (alpha, candidate) in enumerate(zip(levels, candidates, strict=True), 1):
        code, said = tune(tmp_path, "promote", candidate, "seed", "--rival", "sparring/hunter", *few)
        assert code == 1, said
        assert f"attempt {attempt} of the family seed: alpha {alpha}" in said
        stored = tmp_path / f"results/promote-{candidate}/attempt-{attempt}"
        games = read_results(stored / "parent.jsonl")
        assert not seeds & {game.seed for game in games}
        assert not maps & {game.map.digest for game in games}
        seeds |= {game.seed for game in games}
        maps |= {game.map.digest for game in games}
        setup = tomllib.loads((stored / "parent.effective.toml").read_text())
        assert setup["sprt"]["alpha"] == pytest.approx(0.05 / (attempt * (attempt + 1)))
    lines = [json.loads(line) for line in (tmp_path / "versions/seed.attempts.jsonl").read_text().splitlines()]
    found = [(line["attempt"], line.get("outcome")) for line in lines]
    assert found == [(number, outcome) for number in (1, 2, 3) for outcome in (None, "refused")]


def test_an_interrupted_attempt_goes_on(tmp_path: Path) -> None:
    file = AttemptFile(tmp_path / "seed.attempts.jsonl")
    first = file.begin("same", "a", "b")
    assert file.begin("same", "a", "b") == first, "it was interrupted, so it goes on"
    second = file.begin("other", "c", "b")
    assert (first.number, second.number) == (1, 2)
    assert file.begin("same", "a", "b").number == 3, "another attempt came between"
    rates = [PromotionAttempt(number).alpha(0.05) for number in range(1, 2000)]
    assert sum(rates) < 0.05
    assert sum(rates) == pytest.approx(0.05, rel=1e-3)
    (tmp_path / "notes.attempts.jsonl").write_text("mine\n")
    with pytest.raises(UsageError, match="has no attempts"):
        AttemptFile(tmp_path / "notes.attempts.jsonl").begin("same", "a", "b")
    assert (tmp_path / "notes.attempts.jsonl").read_text() == "mine\n"


@pytest.mark.slow
def test_rivals_of_the_same_name_have_results_of_their_own(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.toml").write_text('extends = "random"\n' if folder == "a" else 'extends = "stay"\n')
    few = ["--sprt-fewest", 5, "--rival-blocks", 5, "--family-blocks", 5, "--nodes", 50, *SMALL]
    code, said = tune(tmp_path, "promote", "seed", "random", "--rival", "a/x.toml", "--rival", "b/x.toml", *few)
    assert code == 0, said
    assert re.search(r"passed: against x \(a/x\.toml\): \+\d+ points, 97\.5 % [-+]\d+ \.\. [-+]\d+", said), said
    assert "passed: against x (b/x.toml): " in said
    stored = tmp_path / "results/promote-seed/attempt-1"
    digests = [{seat.digest for game in read_results(stored / name) for seat in game.seats} for name in RIVALS]
    assert digests[0] != digests[1]


@pytest.mark.slow
def test_a_weaker_bot_is_refused(tmp_path: Path) -> None:
    few = ["--blocks", 20, "--sprt-fewest", 5, "--sprt-elo1", 100, "--rival-blocks", 5, "--nodes", 100, *SMALL]
    code, said = tune(tmp_path, "promote", "random", "seed", *few)
    assert code == 1, said
    assert "refused: random is not stronger by enough than its parent seed" in said
    off = "".join(f"[traits.{name}]\nenabled = false\n" for name in ("tavern-finder", "combat", "look-ahead", "spawn-avoider"))
    (tmp_path / "weak.toml").write_text(f'extends = "seed"\n{off}')
    code, said = tune(tmp_path, "promote", "weak.toml", "random", "--rival", "seed", *few, "--rounds", 40)
    assert code == 1, said
    assert "passed: weak is stronger than its parent random" in said
    assert "refused: against seed: -" in said
    assert not list((tmp_path / "versions").glob("*.toml"))
