"""Reads recorded games as episodes for offline learning: what each hero saw, what it did, and what it got.

    python episodes.py cup.games.jsonl vindinium/cup-v0 --names seed

writes them as a data set of Minari. Programs can import `episodes` and `to_minari`.
"""

import argparse
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from behaviours.common.map_tables import map_tables_of
from sim.game import CRASH, SEATS, Games, mover
from sim.rules import step
from vindibot.env.observing import ALL, Lookout, Observations, Rows
from vindibot.env.options import EnvOptions
from vindibot.env.stepping import REWARDS, worths_in
from vindibot.games.files.game_files import read_records
from vindibot.games.game_record import GameRecord, map_before


@dataclass(frozen=True)
class Episode:
    """One hero's part of a recorded game, with n decisions.

    - `observations` and `masks` (int8, n + 1 x 5): before each decision, and at the end.
    - `actions` (int64, n), `rewards` (float64, n).
    - `game`: the id of the record. `hero`: 0..3. `name`: the name of the player. `ended`: whether the game came to its end.
    """

    game: str
    hero: int
    name: str
    observations: NDArray[Any]
    masks: NDArray[np.int8]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float64]
    ended: bool


def episodes(
    path: str | Path,
    *,
    observation: str = "features",
    reward: str = "lead",
    window: int = 21,
    names: Collection[str] = (),
) -> Iterator[Episode]:
    """Yield the episodes of the games in a file of records (``cup.games.jsonl``): up to four per game.

    The options are those of `EnvOptions`. With `names`, only players of these names count. A hero that crashed has no episode.
    Raises `UsageError` for wrong options, and `GameRecordError` for a damaged file.
    """
    options = EnvOptions.of({"observation": observation, "reward": reward, "window": window})
    for record in read_records(Path(path)):
        yield from _episodes_of(record, options.lookout, REWARDS.index(reward), names)


def _episodes_of(record: GameRecord, lookout: Lookout, worth: int, names: Collection[str]) -> Iterator[Episode]:
    state = record.first()
    tables, states = map_tables_of(map_before(state)), [state.copy()]
    for move in record.moves:
        step(state, 0, move)
        states.append(state.copy())
    games, worths = np.concatenate(states), np.zeros((len(states), SEATS))
    worths_in(games, worth, worths)
    first = mover(states[0])
    for hero in range(SEATS):
        turns = np.arange((hero - first) % SEATS, len(record.moves), SEATS)
        actions = np.array(record.moves, np.int64)[turns]
        if (names and record.names[hero] not in names) or (actions == CRASH).any() or not len(turns):
            continue
        seen = np.append(turns, len(record.moves))
        observations, masks = _look(games, tables, seen, hero, lookout)
        gains = np.diff(worths[seen, hero])
        ended = bool(games["status"][-1])
        yield Episode(record.id, hero, record.names[hero], observations, masks, actions, gains, ended)


def _look(
    games: Games, tables: NDArray[np.void], which: NDArray[np.int64], hero: int, lookout: Lookout
) -> tuple[NDArray[Any], NDArray[np.int8]]:
    count = len(which)
    rows = Observations(lookout, count)
    numbers, zeros, heroes = np.arange(count), np.zeros(count, np.int64), np.full(count, hero)
    rows.look(games, tables, Rows(numbers, which, zeros, heroes, np.full(count, ALL, np.int8)))
    return rows.observations, rows.masks


def to_minari(parts: Iterable[Episode], dataset_id: str) -> Any:
    """Store episodes as a data set of Minari, and return it. The masks are a part of the observations.

    Raises `ValueError` if there are no episodes.
    """
    from minari import create_dataset_from_buffers
    from minari.data_collector import EpisodeBuffer

    buffers = [
        EpisodeBuffer(
            observations={"observation": episode.observations, "action_mask": episode.masks},
            actions=episode.actions,
            rewards=episode.rewards.tolist(),
            terminations=[*[False] * (len(episode.actions) - 1), episode.ended],
            truncations=[*[False] * (len(episode.actions) - 1), not episode.ended],
        )
        for episode in parts
    ]
    if not buffers:
        raise ValueError("there are no episodes: name other games or other players")
    first = buffers[0].observations["observation"]
    most = np.iinfo(first.dtype).max if first.dtype.kind in "iu" else 1
    least = -1 if first.dtype.kind == "f" else 0
    space = spaces.Dict(
        {"observation": spaces.Box(least, most, first.shape[1:], first.dtype), "action_mask": spaces.Box(0, 1, (5,), np.int8)}
    )
    return create_dataset_from_buffers(
        dataset_id, buffers, observation_space=space, action_space=spaces.Discrete(5), code_permalink="", author="vindibot",
        author_email="", algorithm_name="recorded games", description="games of Vindinium",
    )  # fmt: skip


def main() -> None:
    """Read the options, and write the data set."""
    parser = argparse.ArgumentParser(description="write recorded games as a data set of Minari")
    parser.add_argument("games", help="a file of game records")
    parser.add_argument("dataset", help="the id of the data set: NAMESPACE/NAME-v0")
    parser.add_argument("--observation", default="features", help="the kind of observations")
    parser.add_argument("--reward", default="lead", help="what a game is worth for a hero")
    parser.add_argument("--names", nargs="*", default=(), help="the players whose episodes are written; all without this option")
    options = parser.parse_args()
    parts = episodes(options.games, observation=options.observation, reward=options.reward, names=options.names)
    print(to_minari(parts, options.dataset))


if __name__ == "__main__":
    main()
