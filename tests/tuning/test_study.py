"""Studies with games of known strength: ruined parameters come back, and no crash loses more than the running blocks."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from tests.support.players import at_once
from tests.tuning.studies import EXCLUDED, RUINED, KnownGame, going_on, play, ruined_bot, settings, value_of
from vindibot.arena.results import PlayedGame
from vindibot.arena.schedule import GameTask
from vindibot.base.errors import UsageError
from vindibot.config.bots import load_bot
from vindibot.tuning.report import result_rows
from vindibot.tuning.space import TunedParameter, space_of, with_values
from vindibot.tuning.study import StudyError, TuneStudy, begin, resume

FEW = {"parameters": list(RUINED), "games": 84, "batch": 2}


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Optuna waits for the disk after each entry. No test here takes the machine's power away."""
    monkeypatch.setattr(os, "fsync", lambda file: None)


def known_game() -> KnownGame:
    best = load_bot("searcher")
    return KnownGame({key: value_of(best, key) for key in RUINED}, RUINED)


def strengths(study: TuneStudy, game: KnownGame) -> tuple[float, float]:
    """Return the rating points of the bot and of the tuned bot."""
    positions, _ = study.result()
    return game.strength(study.space.bot), game.strength(with_values(study.space.bot, study.space.values(positions)))


def values_of(study: TuneStudy) -> list[tuple[float | None, dict[str, float]]]:
    return [(variant.value, dict(variant.params)) for variant in study.variants]


@pytest.mark.slow
def test_three_of_25_parameters_come_back(tmp_path: Path) -> None:
    """The study is interrupted twice."""
    game, path = known_game(), tmp_path / "study.jsonl"
    study = play(begin(settings(games=3200), ruined_bot(tmp_path, RUINED), path), game, most=700)
    assert len(study.space) == 25
    assert not study.finished
    with path.open("ab") as file:
        file.write(b'{"op_code":7,"trial')  # as after a crash
    play(resume(path, going_on()), game, most=500)
    study = play(resume(path, going_on()), game)
    before, after = strengths(study, game)
    assert after > 0.3 * before, "70 % are regained"
    assert game.played <= 3200 + 2 * 2


def test_an_interruption_changes_nothing(tmp_path: Path) -> None:
    game, bot = known_game(), ruined_bot(tmp_path, RUINED)
    whole = play(begin(settings(**FEW), bot, tmp_path / "a.jsonl"), game)
    path = tmp_path / "b.jsonl"
    play(begin(settings(**FEW), bot, path), game, most=20)
    content = path.read_bytes()
    path.write_bytes(content[: content.index(b'"op_code":5', len(content) // 2)])  # killed while a variant was proposed
    study = play(resume(path, going_on()), game)
    assert study.trials.get_trials(states=(TrialState.FAIL,))
    assert len(values_of(study)) == len(values_of(whole)) == 21
    play(begin(settings(**FEW), bot, tmp_path / "c.jsonl"), game, most=20)
    assert values_of(play(resume(tmp_path / "c.jsonl", going_on()), game)) == values_of(whole)
    other = play(begin(settings(**FEW, seed=4), bot, tmp_path / "d.jsonl"), game)
    assert values_of(other) != values_of(whole)


def test_a_study_goes_on_with_more_games_only(tmp_path: Path) -> None:
    game, path = known_game(), tmp_path / "study.jsonl"
    play(begin(settings(**FEW), ruined_bot(tmp_path, RUINED), path), game)
    for changes, message in (
        ({"games": 60}, "option --games: games is 60, but the study has 84: only the number of games may grow"),
        ({"nodes": 50}, "option --nodes: nodes is 50, but the study has 2000: the settings of a study stay as they were"),
        ({"seed": 4}, "option --seed: seed is 4, but the study has 3"),
        ({"ranges": {"traits.search.weights.keep": [1.0, 2.0]}}, "but the study has {}"),
        ({"study": "other.jsonl"}, "leave one of them out"),
    ):
        with pytest.raises(UsageError) as caught:
            resume(path, going_on(**changes))
        assert message in caught.value.message
    assert play(resume(path, going_on(nodes=2000, seed=3)), game).finished
    assert game.played == 84
    assert play(resume(path, going_on(games=168)), game).finished
    assert game.played == 168
    assert len(play(resume(path, going_on()), game).variants) == 42, "the file knows the new number of games"
    whole = play(begin(settings(**FEW | {"games": 168}), ruined_bot(tmp_path, RUINED), tmp_path / "whole.jsonl"), game)
    assert values_of(whole) == values_of(play(resume(path, going_on()), game))


def test_tools_of_optuna_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    play(begin(settings(**FEW), ruined_bot(tmp_path, RUINED), path), known_game())
    study = resume(path, going_on())
    study.close()
    rows = result_rows(study)
    assert [row[:2] for row in rows] == [[key.removeprefix("traits."), f"{start:g}"] for key, start in RUINED.items()]
    for parameter, row, position, deviation in zip(study.space.parameters, rows, *study.result(), strict=True):
        low, high = parameter.at(position - deviation), parameter.at(position + deviation)
        assert float(row[2]) == pytest.approx(parameter.at(position), rel=1e-3)
        assert low < float(row[2]) < high
        assert float(row[3]) == pytest.approx((high - low) / 2, rel=0.06)
    stored = optuna.load_study(study_name=None, storage=JournalStorage(JournalFileBackend(str(path))))
    assert len(stored.trials) == 1 + 3 * 7
    assert stored.trials[0].params == dict.fromkeys(RUINED, 0.0), "the bot itself"
    assert stored.trials[5].value == pytest.approx(np.mean(list(stored.trials[5].intermediate_values.values())))


def test_a_game_that_cannot_be_played_counts_nothing(tmp_path: Path) -> None:
    known = KnownGame()

    def faulty(task: GameTask) -> PlayedGame:
        if task.block in (5, 6, 7):  # one block of the second variant, and both of the third
            raise RuntimeError("no such map")
        return known(task)

    study = begin(settings(**FEW), ruined_bot(tmp_path, RUINED), tmp_path / "study.jsonl")
    notes: list[str] = []
    study.play(at_once(faulty), 1, note=notes.append)
    assert "is given up: no such map" in notes[-1]
    trials = study.trials.trials
    assert trials[2].value == trials[2].intermediate_values[0]
    assert math.isnan(trials[2].intermediate_values[1])
    assert trials[3].state == TrialState.FAIL
    assert (study.finished, len(trials)) == (True, 1 + 21 + 1), "another variant replaces it"


def test_a_study_without_any_game_ends(tmp_path: Path) -> None:
    def faulty(task: GameTask) -> PlayedGame:
        raise RuntimeError("no such map")

    study = begin(settings(**FEW), ruined_bot(tmp_path, RUINED), tmp_path / "study.jsonl")
    with pytest.raises(StudyError, match="none of the games of the last 7 variants could be played"):
        study.play(at_once(faulty), 1)


def test_a_study_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    bot = ruined_bot(tmp_path, RUINED)
    for more, message in (
        ({"games": 20}, "one generation of 25 parameters takes 104 games, more than 20"),
        ({"parameters": ["traits.rollout.*"]}, r"no number that matches 'traits\.rollout"),
        ({"parameters": ["*.keep"]}, r"at least two parameters, and only traits\.search\.weights\.keep is left"),
        ({"parameters": ["*.keep"], "exclude": ["*"]}, "exclude leaves none"),
    ):
        with pytest.raises(UsageError, match=message):
            begin(settings(**more), bot, path)
        assert not path.exists()
    play(begin(settings(), bot, path), KnownGame(), most=5)
    with pytest.raises(UsageError, match="--resume continues it"):
        begin(settings(), bot, path)
    content = path.read_text()
    (tmp_path / "ruined.toml").write_text('extends = "searcher"\n')
    with pytest.raises(UsageError, match="the bot ruined has changed since the study began"):
        resume(path, going_on())
    (tmp_path / "faulty.jsonl").write_text(content.replace("\n", "\nno json\n", 1))
    with pytest.raises(StudyError, match="Optuna cannot read a study"):
        resume(tmp_path / "faulty.jsonl", going_on())
    (tmp_path / "begun.jsonl").write_text(content.splitlines()[0] + "\n")
    with pytest.raises(StudyError, match="begin a new study"):
        resume(tmp_path / "begun.jsonl", going_on())
    (tmp_path / "other.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match="no study"):
        resume(tmp_path / "other.jsonl", going_on())


def test_a_study_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    play(begin(settings(), "searcher", path), KnownGame(), most=2)
    first = resume(path, going_on())
    with pytest.raises(UsageError, match="another study is writing"):
        resume(path, going_on())
    first.close()
    resume(path, going_on()).close()


def test_the_space_has_what_traits_declare() -> None:
    space = space_of(load_bot("searcher"), ["traits.search.*"], EXCLUDED)
    parameters = {parameter.key.rpartition(".")[2]: parameter for parameter in space.parameters}
    assert (parameters["stamina"].low, parameters["stamina"].high, parameters["stamina"].whole) == (28.75, 100, False)
    assert parameters["contact"].whole
    assert parameters["keep"].ratio
    assert not parameters["step_discount"].ratio
    for parameter in space.parameters:
        assert (parameter.at(-1), parameter.at(0), parameter.at(1)) == pytest.approx(
            (parameter.low, parameter.start, parameter.high)
        )
        assert parameter.low <= parameter.value(-1) <= parameter.value(0.4) <= parameter.value(1) <= parameter.high
    narrow = space_of(load_bot("searcher"), ["*.keep", "*.life"], ranges={"traits.search.weights.keep": (60.0, 80.0)})
    assert [(parameter.low, parameter.high) for parameter in narrow.parameters if parameter.key.endswith("keep")] == [(60, 80)]
    with pytest.raises(UsageError, match="not within"):
        space_of(load_bot("searcher"), ["*.keep", "*.life"], ranges={"traits.search.weights.keep": (10.0, 20.0)})


def test_whole_numbers_are_rounded_at_random() -> None:
    parameter = TunedParameter("a", 8, 0, 16, whole=True)
    played = [parameter.value(0.25 / 8, draw) for draw in np.random.default_rng(1).random(4000).tolist()]
    assert set(played) == {8, 9}
    assert np.mean(played) == pytest.approx(8.25, abs=0.03)
    assert (parameter.value(0.4 / 8), parameter.value(0.6 / 8)) == (8, 9), "the result is rounded to the nearest number"
