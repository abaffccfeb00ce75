"""Recorded games from which the tests of `vindibot learn` learn."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from behaviours.common.evaluation import Weights, compiled_weights
from behaviours.common.map_tables import map_tables_of
from behaviours.rollout.policy import LIBRARY, NO_GOAL, compiled_policies, follow
from sim.game import RUNNING, mover
from sim.generator import generate
from sim.rules import step
from vindibot.games.game_record import GameRecord, dumps
from vindibot.games.outcome import Reason

NOW = datetime(2026, 1, 1, tzinfo=UTC)
#: The policies of `LIBRARY` that play in the recorded games, by the names of their bots.
POLICIES = {"careful": 1, "hunter": 3}


def recorded_games(path: Path) -> Path:
    """Write the records of 24 games on six maps to a file, and return the file.

    Two policies of the library, a bot with random moves, and a bot that stays play these games.
    """
    rng = np.random.default_rng(4)
    names = (*POLICIES, "random", "stay")
    policies, weights = compiled_policies(LIBRARY), compiled_weights(Weights())
    lines = []
    for number in range(24):
        where, seats = generate(number // 4, size=12), tuple(names[(number + seat) % 4] for seat in range(4))
        games, moves, tables = where.new_game(max_turns=360), [], map_tables_of(where)
        while games["status"][0] == RUNNING:
            hero = mover(games)
            move = int(rng.integers(5)) if seats[hero] == "random" else 0
            if seats[hero] in POLICIES:
                move = follow(games, 0, hero, tables, weights, policies, POLICIES[seats[hero]], NO_GOAL)
            moves.append(move)
            step(games, 0, move)
        record = GameRecord.of(
            where.new_game(360), id=f"game {number}", names=seats, moves=moves, ending=Reason.FINISHED, started=NOW, finished=NOW
        )
        lines.append(dumps(record))
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


@pytest.fixture
def few_games(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a thread of self-play have 8 games on 4 maps, and let matches be short."""
    for name, number in (
        ("trainer.GAMES_PER_THREAD", 8),
        ("trainer.MAPS", 4),
        ("selfplay.BOT_BLOCKS", 2),
        ("selfplay.SNAPSHOT_BLOCKS", 2),
    ):
        monkeypatch.setattr(f"vindibot.learning.{name}", number)


@pytest.fixture(scope="package")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of `recorded_games`."""
    return recorded_games(tmp_path_factory.mktemp("games") / "g.games.jsonl")
