"""Studies with games of known strength: ruined parameters come back, others stay, and no crash loses more than a block."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.players import at_once
from tests.support.tuning import (
    EXCLUDED,
    RUINED,
    KnownGame,
    play,
    ruined_bot,
    settings,
    value_of,
)
from vindibot.arena.results import PlayedGame
from vindibot.arena.schedule import GameTask
from vindibot.base.errors import UsageError
from vindibot.config.bots import load_bot
from vindibot.tuning.methods.search import SearchResult, search
from vindibot.tuning.space import space_of
from vindibot.tuning.study import TuneStudy, begin, resume
from vindibot.tuning.study_file import StudyError, StudyFile


def known_game(**more: float) -> KnownGame:
    best = load_bot("searcher")
    return KnownGame({key: value_of(best, key) for key in RUINED}, RUINED, **more)


def result_of(study: TuneStudy) -> SearchResult:
    assert study.result is not None
    return study.result


@pytest.mark.slow
def test_ruined_parameters_come_back(tmp_path: Path) -> None:
    """Three of 25 parameters cost 120 points each. The study is interrupted twice."""
    game, path = known_game(), tmp_path / "study.jsonl"
    study = play(begin(settings(games=3200), ruined_bot(tmp_path, RUINED), path), game, most=700)
    assert len(study.space) == 25
    assert study.result is None
    with path.open("ab") as file:
        file.write(b'{"block":17,"diff')  # as after a crash
    assert play(resume(path, settings()), game, most=500).result is None
    study = play(resume(path, settings()), game)
    result = result_of(study)
    before, after = (game.strength(study.space.bot_at(point)) for point in (study.space.start, result.point))
    assert before == pytest.approx(-360)
    assert after > 0.2 * before, "80 % are regained"
    assert set(RUINED) <= set(result.chosen)
    assert game.played <= 3200 + 2 * 2
    tuned = dict(zip(study.space.keys, result.point, strict=True))
    assert all(tuned[one.key] == one.start for one in study.space.parameters if one.key not in result.chosen)


@pytest.mark.slow
def test_a_parameter_without_effect_stays(tmp_path: Path) -> None:
    """Without a screening all parameters move. Those without effect stay within their errors."""
    game = known_game()
    given = settings(games=2000, screening=0, parameters=["traits.search.weights.*"])
    study = play(begin(given, ruined_bot(tmp_path, RUINED), tmp_path / "study.jsonl"), game)
    result, space = result_of(study), study.space
    assert len(result.chosen) == len(space) == 18
    moved = (np.array(result.point) - space.start) / np.array(result.errors)
    idle = [float(one) for key, one in zip(space.keys, moved, strict=True) if key not in RUINED]
    assert np.sqrt(np.mean(np.square(idle))) < 1.5
    assert sum(abs(one) > 2 for one in idle) <= 2, "of 15"


def test_a_against_a_tunes_nothing(tmp_path: Path) -> None:
    same = KnownGame()
    study = play(begin(settings(games=800, seed=5), "searcher", tmp_path / "study.jsonl"), same)
    result = result_of(study)
    assert result.chosen == ()
    assert result.point == tuple(study.space.start)
    assert same.played == 240, "the study ends after the screening"
    outside = [one.key for one in result.effects if not one.low <= 0 <= one.high]
    assert len(outside) <= 3, "of 25 intervals of 95 %"


def lines_of(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if '"block"' in line[:9]]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_study(tmp_path: Path) -> None:
    game, given = known_game(), settings(games=300, parameters=["traits.search.weights.*"])
    bot = ruined_bot(tmp_path, RUINED)
    first = play(begin(given, bot, tmp_path / "a.jsonl"), game)
    second = play(begin(given, bot, tmp_path / "b.jsonl"), game)
    third = begin(settings(games=300, parameters=["traits.search.weights.*"], seed=4), bot, tmp_path / "c.jsonl")
    play(third, game)
    assert lines_of(tmp_path / "a.jsonl") == lines_of(tmp_path / "b.jsonl") != lines_of(tmp_path / "c.jsonl")
    assert result_of(first).point == result_of(second).point
    # an interruption changes nothing either
    play(begin(given, bot, tmp_path / "d.jsonl"), game, most=60)
    assert result_of(play(resume(tmp_path / "d.jsonl", given), game)).point == result_of(first).point


@pytest.mark.slow
def test_cma_es_finds_them_too(tmp_path: Path) -> None:
    game = known_game()
    keys = list(RUINED)
    given = settings(games=2400, method="cmaes", screening=0, parameters=keys, batch=10)
    study = play(begin(given, ruined_bot(tmp_path, RUINED), tmp_path / "study.jsonl"), game, most=400)
    study = play(resume(tmp_path / "study.jsonl", given), game)
    result = result_of(study)
    before, after = (game.strength(study.space.bot_at(point)) for point in (study.space.start, result.point))
    assert after > 0.5 * before


def test_optuna_has_a_trial_per_iterate(tmp_path: Path) -> None:
    from vindibot.tuning.trials import Trials

    path = tmp_path / "study.jsonl"
    given = settings(games=300, parameters=["traits.search.weights.keep", "traits.search.weights.life"], alpha=1)
    study = play(begin(given, ruined_bot(tmp_path, RUINED), path), known_game())
    file = StudyFile.resume(path)
    stored = Trials(file, study.space).study
    file.close()
    assert len(stored.trials) == len(study.levels) == 1 + 27
    assert [trial.user_attrs["phase"] for trial in stored.trials[:2]] == ["screening", "spsa"]
    assert stored.trials[0].params["traits.search.weights.keep"] == 20
    assert set(study.importance) == {"traits.search.weights.keep", "traits.search.weights.life"}


def test_a_game_that_cannot_be_played_counts_nothing(tmp_path: Path) -> None:
    known = KnownGame()

    def faulty(task: GameTask) -> PlayedGame:
        if task.block in (3, 19):
            raise RuntimeError("no such map")
        return known(task)

    given = settings(games=40, screening=0, parameters=["traits.search.weights.keep"])
    study = begin(given, "searcher", tmp_path / "study.jsonl")
    notes: list[str] = []
    study.play(at_once(faulty), 1, note=notes.append)
    assert study.result is not None
    assert [number for number, block in study.file.blocks.items() if block.failed] == [3, 19]
    assert study.file.blocks[19].difference["place"] == 0
    assert "is given up: no such map" in notes[-1]


@pytest.mark.parametrize(
    "more", [{"screening": 0}, {"screening": 0.5, "alpha": 1}, {"screening": 0, "method": "cmaes", "batch": 2}]
)
def test_blocks_that_cannot_be_played_change_no_result(tmp_path: Path, more: dict[str, Any]) -> None:
    """The difference of such a block is stored as 0. If it has another value, the result must be the same."""
    known = KnownGame()

    def faulty(task: GameTask) -> PlayedGame:
        if task.block % 5 == 3:
            raise RuntimeError("no such map")
        return known(task)

    given = settings(games=80, parameters=["traits.search.weights.keep"], **more)
    study = begin(given, "searcher", tmp_path / "study.jsonl")
    study.play(at_once(faulty), 1)
    results = dict(study.file.blocks)
    assert sum(one.failed for one in results.values()) == 8
    for number, one in results.items():
        if one.failed:
            results[number] = dataclasses.replace(one, difference={"place": 9.0}, level={"place": 9.0})
    assert all(math.isnan(level) or abs(level) < 5 for level in study.levels)
    steps = search(study.space, given, study.seed)
    iterate = next(steps)
    again = None
    while again is None:
        try:
            iterate = steps.send([results[plan.number] for plan in iterate.plans])
        except StopIteration as end:
            again = end.value
    assert study.result is not None
    assert (again.point, again.effects) == (study.result.point, study.result.effects)


def test_a_study_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    bot = ruined_bot(tmp_path, RUINED)
    with pytest.raises(UsageError, match="at least"):
        begin(settings(games=100), bot, path)
    with pytest.raises(UsageError, match=r"no number that matches 'traits\.rollout"):
        begin(settings(parameters=["traits.rollout.*"]), bot, path)
    assert not path.exists()
    play(begin(settings(games=600), bot, path), KnownGame(), most=5)
    with pytest.raises(UsageError, match="--resume continues it"):
        begin(settings(games=600), bot, path)
    (tmp_path / "ruined.toml").write_text('extends = "searcher"\n')
    with pytest.raises(UsageError, match="the bot ruined has changed since the study began"):
        resume(path, settings())
    content = path.read_text()
    (tmp_path / "faulty.jsonl").write_text(content + "no json\n")
    with pytest.raises(StudyError, match="line"):
        StudyFile.resume(tmp_path / "faulty.jsonl")
    (tmp_path / "changed.jsonl").write_text(content.replace('"seed":3', '"seed":4', 1))
    with pytest.raises(UsageError, match="the setup was changed"):
        StudyFile.resume(tmp_path / "changed.jsonl")
    (tmp_path / "other.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match="no study"):
        StudyFile.resume(tmp_path / "other.jsonl")


def test_a_study_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    play(begin(settings(games=600), "searcher", path), KnownGame(), most=2)
    first = StudyFile.resume(path)
    with pytest.raises(UsageError, match="another study is writing"):
        StudyFile.resume(path)
    first.close()
    head = json.loads(path.read_text().splitlines()[0])
    assert head["setup"]["settings"]["games"] == 600


def test_the_space_has_what_traits_declare() -> None:
    space = space_of(load_bot("searcher"), ["traits.search.*"], EXCLUDED)
    found = {one.key.rpartition(".")[2]: one for one in space.parameters}
    assert (found["stamina"].low, found["stamina"].high, found["stamina"].whole) == (25, 100, False)
    assert found["contact"].whole
    assert found["keep"].ratio
    assert not found["step_discount"].ratio
    for one in space.parameters:
        assert one.at(0) == one.start
        assert one.low <= one.at(-3) <= one.at(3) <= one.high
        assert one.at(one.position(one.at(0.5))) == pytest.approx(one.at(0.5))
    narrow = space_of(load_bot("searcher"), ["*.keep"], ranges={"traits.search.weights.keep": (60.0, 80.0)}, step=0.5)
    assert [(one.low, one.high, one.step) for one in narrow.parameters] == [(60, 80, 5)]
    with pytest.raises(UsageError, match="not within"):
        space_of(load_bot("searcher"), ["*.keep"], ranges={"traits.search.weights.keep": (10.0, 20.0)})


def test_whole_numbers_are_rounded_at_random() -> None:
    (one,) = space_of(load_bot("searcher"), ["*.contact"]).parameters
    draws = np.random.default_rng(1).random(4000)
    played = [one.played(8.25, draw) for draw in draws.tolist()]
    assert set(played) == {8.0, 9.0}
    assert np.mean(played) == pytest.approx(8.25, abs=0.03)
