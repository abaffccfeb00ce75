"""``vindibot tune imitate``: policies fitted to recorded moves, and bots that have them as opponent models."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from behaviours.rollout.learned import SCORE_UNIT, scores_of
from behaviours.net.move_features import FEATURES, SLOTS
from vindibot.cli.main import main
from vindibot.config import load_bot
from vindibot.tuning import imitation
from vindibot.tuning.imitation import MoveDecisions, decisions_of, fit_policy, probabilities


def run(folder: Path, *words: object) -> tuple[int, str]:
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "120")
        result = CliRunner().invoke(main, [*map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The records of 24 games of four bots on six maps."""
    folder = tmp_path_factory.mktemp("games")
    maps = [word for name in ("10-1", "12-2", "14-3", "10-11", "12-12", "14-13") for word in ("--map", name)]
    limits = ["--blocks", 6, "--rounds", 90, "--nodes", 100, "--seed", 4, "--workers", 1, "--no-report"]
    code, said = run(folder, "arena", "seed", "malvert", "random", "stay", *maps, *limits, "--results", "g.jsonl")
    assert code == 0, said
    return folder / "g.games.jsonl"


def test_a_bot_learns_how_others_move(games: Path, tmp_path: Path) -> None:
    code, said = run(tmp_path, "tune", "imitate", "versions/strong-1", games, "--out", "more.toml")
    assert code == 0, said
    rows = {line.split()[0]: line.split()[1:] for line in said.splitlines() if line.split()[3:] and "%" in line}
    share = {bot: float(row[2].rstrip("%")) for bot, row in rows.items()}
    assert set(rows) == {"seed", "malvert", "random", "stay"}
    assert share["stay"] == 100
    assert share["seed"] > 75
    assert share["random"] < 50
    bot = load_bot(str(tmp_path / "more.toml"))
    trait = next(behaviour for spec, behaviour in bot.build() if spec.label == "rollout")
    assert len(trait.learned) == 4
    # the models of a bot are kept, and new ones follow them
    code, said = run(tmp_path, "tune", "imitate", "more.toml", games, "--only", "seed", "--out", "again.toml")
    assert code == 0, said
    again = next(behaviour for spec, behaviour in load_bot(str(tmp_path / "again.toml")).build() if spec.label == "rollout")
    assert again.learned == (*trait.learned, trait.learned[2])
    code, said = run(tmp_path, "arena", "--match", "again.toml", "seed", "--blocks", 1, "--rounds", 3, "--nodes", 500)
    assert code == 0, said


def test_a_fit_finds_the_scores_behind_the_moves() -> None:
    """Moves are drawn by known scores. On other moves, the fitted probabilities are near the known ones."""
    rng = np.random.default_rng(5)
    count, used = 6000, 40
    features = rng.integers(0, used, (count, 5, SLOTS)).astype(np.int16)
    features[rng.random((count, 5)) < 0.2, 0] = -1
    features[:, 0, 0] = 1
    truth = np.zeros(FEATURES)
    truth[1:used] = rng.normal(0, 0.7, used - 1)
    allowed = features[:, :, 0] >= 0
    odds = probabilities(truth, np.maximum(features, 0).astype(np.int32), allowed)
    moves = (rng.random((count, 1)) > odds.cumsum(axis=1)).sum(axis=1)
    held = np.arange(count) >= 4000
    policy = fit_policy("known", MoveDecisions(features, moves, np.zeros((count, 1), bool), held))
    fitted = probabilities(scores_of(policy.text) / SCORE_UNIT, np.maximum(features, 0).astype(np.int32), allowed)
    assert np.abs(fitted - odds)[held].mean() < 0.02
    assert policy.fitted == 4000
    best = np.log(odds[np.arange(count), moves])[held].mean()
    assert best - 0.03 < policy.likelihood <= best + 0.01


def test_maps_for_validation_are_not_used_for_the_fit(games: Path) -> None:
    decisions = decisions_of([games], 0.3, ["seed"])["seed"]
    wrong = np.where(decisions.validation, (decisions.moves + 1) % 5, decisions.moves)
    other = MoveDecisions(decisions.features, wrong, decisions.known, decisions.validation)
    assert fit_policy("seed", other).text == fit_policy("seed", decisions).text


def test_many_decisions_are_thinned(monkeypatch: pytest.MonkeyPatch, games: Path) -> None:
    monkeypatch.setattr(imitation, "MOST", 1000)
    decisions = decisions_of([games], 0.3, ["seed"])["seed"]
    assert 500 <= len(decisions.thinned()) <= 1000 < len(decisions)


def test_wrong_words_are_refused(games: Path, tmp_path: Path) -> None:
    for words, message in (
        (["strong", games, "--only", "sed"], "no game of this bot; the bots are malvert, random, seed, stay"),
        (["seed", games], "--trait rollout: seed has no trait 'rollout' with the parameter learned"),
        (["strong", tmp_path / "none.jsonl"], "none.jsonl"),
        (["strong", games, "--holdout", "0.95"], "0.05<=x<=0.9"),
    ):
        code, said = run(tmp_path, "tune", "imitate", *words)
        assert code == 2, said
        assert message in said.replace("\n", " ")
    (tmp_path / "strong-learned.toml").write_text('name = "mine"\n')
    code, said = run(tmp_path, "tune", "imitate", "strong", games, "--only", "stay")
    assert code == 2
    assert (tmp_path / "strong-learned.toml").read_text() == 'name = "mine"\n'
    few = tmp_path / "few.games.jsonl"
    lines = games.read_bytes().splitlines(keepends=True)
    for kept, message in ((lines[:1], "at least two maps"), ([lines[0], lines[-1]], "at least 1000 are needed")):
        few.write_bytes(b"".join(kept))
        code, said = run(tmp_path, "tune", "imitate", "strong", few, "--out", "few.toml")
        assert code == 2
        assert message in said.replace("\n", " ")


def test_an_interrupted_fit_keeps_what_is_ready(games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit = fit_policy

    def one_then_interrupt(bot: str, *more: object) -> object:
        if bot != "malvert":
            raise KeyboardInterrupt
        return fit(bot, *more)

    monkeypatch.setattr("vindibot.tuning.imitation.fit_policy", one_then_interrupt)
    monkeypatch.setattr("vindibot.tuning.fit_policy", one_then_interrupt, raising=False)
    code, said = run(tmp_path, "tune", "imitate", "strong", games)
    assert code == 130, said
    assert "malvert" in (tmp_path / "strong-learned.toml").read_text()
