"""Small games and the recordings that a bot would have made of them, for tests."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from sim.game import CRASH, RUNNING, STAY, Games
from sim.generator import generate
from sim.maps import Map
from sim.rules import step
from vindibot.games.ballot import Ballot, BallotEntry
from vindibot.games.files.recording import Header, Recorder, Recording, TraitHeader, read_recording
from vindibot.games.game_record import GameRecord
from vindibot.games.outcome import Outcome, Reason
from vindibot.games.protocol import Player, from_games

PLAYERS = [Player("seed", "u1", 1200), Player("[red]two[/]"), Player("drei ☃"), Player('"vier"\n')]
BALLOT = Ballot(
    [
        BallotEntry("tavern-finder", 0.9, [0, 1, 0, 0, 0], 0.25),
        BallotEntry("combat", 0.6, None, 1.5),
        BallotEntry("search", 2, [0.0, -1, 0.5, 0, 0], 700, "late", "no last answer"),
    ],
    [0.0, -1.1, 1.0, 0.0, 0.0],
    (0, 1, 2),
    2,
    212.5,
    False,
)
HEADER = Header(
    bot="seed", traits=(TraitHeader(label="combat", weight=0.6, use="combat"),), game="abcd1234", hero=1, mode="arena"
)


def states_of(seed: int, plies: int = 120, crashes: float = 0.0, *, training: bool = False) -> list[Games]:
    """Return all states of a game of random moves on a small map. A crashed hero stays where it is."""
    rng = np.random.default_rng(seed)
    games = generate(seed, size=int(rng.choice([8, 10, 12]))).new_game(max_turns=plies, training=training)
    states = [games.copy()]
    while games[0]["status"] == RUNNING:
        hero = games[0]["hero"][int(games[0]["turn"]) % 4]
        move = STAY if hero["crashed"] else CRASH if rng.random() < crashes else int(rng.integers(5))
        step(games, 0, move)
        states.append(games.copy())
    return states


def raw(games: Games) -> dict[str, Any]:
    return from_games(games, game_id="abcd1234", players=PLAYERS)


def record(
    folder: Path, states: list[Games], hero: int, *, without: frozenset[int] = frozenset(), outcome: bool = True
) -> Recording:
    """Return the recording that `hero` (1..4) would have made of a game, without the turns in `without`."""
    mode = "training" if states[0][0]["training"] else "arena"
    with Recorder(folder, HEADER.model_copy(update={"hero": hero, "mode": mode})) as recorder:
        for state in states:
            game = state[0]
            own = game["status"] == RUNNING and game["turn"] % 4 == hero - 1 and not game["hero"][hero - 1]["crashed"]
            if own and int(game["turn"]) not in without:
                recorder.turn(raw(state), BALLOT)
        if outcome:
            recorder.finish(Outcome(), raw(states[-1]))
    assert recorder.path is not None
    return read_recording(recorder.path)


NAMES_OF_FOUR = ("seed", "<b>two</b>", "drei ☃", '"vier"\n')

WHEN = datetime(2030, 1, 2, 3, 4, 5, 600_000, tzinfo=UTC)


def record_of(game_map: Map, played: list[int], **changes: Any) -> GameRecord:
    first = game_map.new_game(changes.pop("max_turns", 1200), changes.pop("training", False))
    values: dict[str, Any] = {
        "id": "abcd1234",
        "names": NAMES_OF_FOUR,
        "moves": played,
        "ending": Reason.INTERRUPTED,
        "started": WHEN,
        "finished": WHEN,
    }
    return GameRecord.of(first, **(values | changes))
