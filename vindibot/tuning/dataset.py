"""Positions of recorded games as columns of numbers, in a file of NumPy (.npz).

**Which positions.** A game gives one position every `every` rounds, always before the move of hero 1. So all heroes have the same
number of rounds left. A digest of the game selects the round of the first position, 0 to `every` - 1. So the positions of a game
are far apart, and all rounds occur equally often. Only games that were played to their last round are used.

**Which columns.** The columns in `COLUMNS` have one entry per position and hero. Those in `SINGLES` have one entry per position.

**How they are split.** All positions of a map are either for fitting or for validation. A digest of the map decides this. So
validation uses only games and maps that the fit has not seen.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behaviours.common.duel import duel_table
from behaviours.common.evaluation import Weights
from behaviours.common.map_tables import AWAY, MAX_MINES, map_tables_of
from sim.game import ABSENT, BEER_COST, BLOW, CELLS, CRASH, MAX_LIFE, MINE, MINE_COST, PLIES_PER_ROUND, SEATS
from vindibot.base import UsageError, replace, short
from vindibot.games import GameHistory, GameRecord, GameRecordError, Reason, read_records

#: The columns with one entry per position and hero (n x 4), with their types.
#:
#: - `gold`, `mines`, `life`: of the hero, in the position. `final`: its gold at the end of the game.
#: - `tavern`: number of moves to the nearest tavern. `mine`: number of moves to the nearest mine of others (255: no such mine).
#: - `reach`: number of mines of others, each with a discount for its distance. `loss`: number of own mines that a rival reaches
#:   first, each with a discount for the distance of the rival. `drink`: discount for the distance of the nearest tavern, 0 if the
#:   hero cannot pay. All three follow `behaviours.common.evaluation` with its default discounts.
#: - `danger`: for each enemy at most two moves away that would win a fight: the number of own mines, plus 1 if the enemy moves
#:   first. `prey`: for each enemy at most two moves away that would lose a fight: the number of its mines. Both are sums over the
#:   enemies. `spawn`: number of enemies on whose spawn square the hero stands.
COLUMNS = {
    "gold": np.int16,
    "mines": np.int16,
    "life": np.int16,
    "final": np.int16,
    "tavern": np.uint8,
    "mine": np.uint8,
    "reach": np.float32,
    "loss": np.float32,
    "drink": np.float32,
    "danger": np.float32,
    "prey": np.float32,
    "spawn": np.float32,
}
#: The columns with one entry per position: the number of the game, the number of the map, the round, and the rounds left.
SINGLES = {"game": np.int32, "map": np.int32, "round": np.int16, "left": np.int16}
_VERSION = 1
_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Dataset:
    """Positions of recorded games. `columns` has the columns of `COLUMNS` and `SINGLES`.

    `bots` (games x 4) has the labels of the bots. `maps` has the digest of each map. `validation` has a bool per map: whether it
    is for validation only.
    """

    columns: dict[str, NDArray[Any]]
    bots: NDArray[np.str_]
    maps: NDArray[np.str_]
    validation: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.columns["left"])

    @property
    def bytes(self) -> int:
        """The memory of all columns, in bytes."""
        return sum(column.nbytes for column in self.columns.values())

    def rows(self, chosen: NDArray[np.bool_]) -> Dataset:
        """Return the positions that `chosen` (one bool per position) selects."""
        return Dataset({name: column[chosen] for name, column in self.columns.items()}, self.bots, self.maps, self.validation)

    def split(self, without: Sequence[str] = ()) -> tuple[Dataset, Dataset]:
        """Return the positions for fitting, and the positions for validation.

        `without` has labels of bots. If it is not empty, games with one of these bots are not used for fitting. Validation then
        uses only these games, on the maps for validation.
        """
        other_map = self.validation[self.columns["map"]]
        of_game = np.array([bool(set(without) & set(names)) for names in self.bots.tolist()])
        other_bot = of_game[self.columns["game"]]
        fitted = ~other_map & ~other_bot
        held = (other_map & other_bot) if without else other_map
        return self.rows(fitted), self.rows(held)

    def save(self, path: Path) -> None:
        """Write the positions to a file. Raises `UsageError` if it cannot be written."""
        buffer = io.BytesIO()
        more = {"version": np.array(_VERSION), "bots": self.bots, "maps": self.maps, "validation": self.validation}
        columns: dict[str, Any] = self.columns | more
        np.savez_compressed(buffer, **columns)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace(path, buffer.getvalue())
        except OSError as problem:
            raise UsageError(f"{short(path)}: cannot be written: {problem.strerror or problem}") from None

    @classmethod
    def load(cls, path: Path) -> Dataset:
        """Read positions from a file. Raises `UsageError` if it cannot be read or is no file of positions."""
        try:
            with np.load(path, allow_pickle=False) as found:
                if int(found["version"]) != _VERSION:
                    raise UsageError(f"{short(path)}: this vindibot reads positions of version {_VERSION}")
                columns = {name: found[name] for name in (*COLUMNS, *SINGLES)}
                return cls(columns, found["bots"], found["maps"], found["validation"])
        except OSError as problem:
            raise UsageError(f"{short(path)}: cannot be read: {problem.strerror or problem}") from None
        except (KeyError, ValueError):
            raise UsageError(f"{short(path)} has no positions: make it with vindibot tune games") from None


def is_positions(path: Path) -> bool:
    """Return whether `path` is a file of positions, or does not exist."""
    if not path.exists():
        return True
    try:
        Dataset.load(path)
    except UsageError:
        return False
    return True


def for_validation(digest: str, share: float) -> bool:
    """Return whether the map with this digest is for validation only. `share` (0..1) is the expected share of such maps."""
    return map_number(digest) < share * 2**32


def map_number(digest: str) -> int:
    """Return a number (0 to 2**32 - 1) that depends on the digest of a map as if it were random."""
    return int.from_bytes(hashlib.blake2b(digest.encode(), digest_size=4).digest(), "big")


def rounds_of(name: str, rounds: int, every: int) -> range:
    """Return the rounds of a game from which positions are taken: one round in `every` rounds.

    `rounds` is the number of rounds of the game. `name` is a digest of the game, which selects the first round.
    """
    first = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=4).digest(), "big") % every
    return range(first, rounds, every)


def positions_of(record: GameRecord, every: int) -> dict[str, NDArray[Any]]:
    """Return the columns of the positions of a game, except `game` and `map`.

    `every` is the number of rounds between two positions. Raises `GameRecordError` for a faulty record.
    """
    history = GameHistory.of(record)
    where = record.game_map()
    rounds = record.max_turns // PLIES_PER_ROUND
    name = hashlib.sha256(where.digest.encode() + bytes(record.moves)).hexdigest()
    chosen = [number for number in rounds_of(name, rounds, every) if PLIES_PER_ROUND * number < len(history)]
    if not chosen:
        return {}
    games = np.concatenate([history.state(PLIES_PER_ROUND * number) for number in chosen])
    found: dict[str, NDArray[Any]] = {"round": np.array(chosen), "left": rounds - np.array(chosen)}
    heroes = games["hero"]
    found |= {name: heroes[name] for name in ("gold", "mines", "life")}
    found["final"] = np.broadcast_to(history.last["hero"]["gold"][0], heroes["gold"].shape)
    found |= _square_features(games, map_tables_of(where)[0])
    found |= _fight_features(games, map_tables_of(where)[0])
    return {name: np.asarray(values, (COLUMNS | SINGLES)[name]) for name, values in found.items()}


def _square_features(games: NDArray[np.void], tables: Any) -> dict[str, _Floats]:
    """Return the columns `tavern`, `mine`, `reach`, `loss` and `drink` (see `COLUMNS`) of an array of games.

    The numbers are those of `behaviours.common.evaluation._square_value`.
    """
    weights = Weights()
    pull = weights.step_discount ** np.arange(256)
    pull[AWAY] = 0
    heroes, count = games["hero"], int(tables["mines"])
    squares = tables["mine"][:count].astype(int)
    owner = (games["cell"][:, squares] - MINE).astype(int) - 1  # -1: nobody
    to_mine = tables["to_mine"].reshape(CELLS, MAX_MINES)[:, :count]
    positions = heroes["pos"].astype(int)
    away = to_mine[positions].astype(int)  # n x 4 x mines
    found = {name: np.zeros(positions.shape) for name in ("tavern", "mine", "reach", "loss", "drink")}
    for me in range(SEATS):
        own = away[:, me]
        rival = np.delete(away, me, axis=1).min(axis=1) if count else own
        mine = owner == me
        foreign = np.where(mine, AWAY, own)
        nearest = foreign.min(axis=1, initial=AWAY)
        share = np.where(rival < own, weights.contested, 1.0) * ~mine
        tavern = tables["tavern"][positions[:, me]].astype(int)
        here, there = (pull[own] * share).sum(axis=1), (pull[to_mine[tavern].astype(int)] * share).sum(axis=1)
        life = heroes["life"][:, me].astype(int) - nearest
        able = np.clip((life - MINE_COST) / (weights.stamina - MINE_COST), 0, 1)
        pays = (heroes["gold"][:, me] >= BEER_COST) | (heroes["mines"][:, me] > 0)
        near = pull[tables["to_tavern"][positions[:, me]].astype(int)] * pays
        found["tavern"][:, me], found["mine"][:, me] = tables["to_tavern"][positions[:, me]], nearest
        found["reach"][:, me] = able * here + (1 - able) * near * there
        found["loss"][:, me] = (pull[np.minimum(rival, AWAY)] * (mine & (rival < own))).sum(axis=1)
        found["drink"][:, me] = near
    return found


def _fight_features(games: NDArray[np.void], tables: Any) -> dict[str, _Floats]:
    """Return the columns `danger`, `prey` and `spawn` (see `COLUMNS`) of an array of games.

    The numbers are those of `behaviours.common.evaluation._fight_value`. Enemies at most two moves away count.
    """
    heroes, duel = games["hero"], duel_table().reshape(MAX_LIFE + 1, MAX_LIFE + 1).astype(bool)
    to_square = tables["to_square"].reshape(CELLS, CELLS)
    pos, life, mines, gold = (heroes[name].astype(int) for name in ("pos", "life", "mines", "gold"))
    tavern = tables["to_tavern"][pos].astype(int)
    found = {name: np.zeros(pos.shape) for name in ("danger", "prey", "spawn")}
    for me in range(SEATS):
        for enemy in range(SEATS):
            if enemy == me:
                continue
            there = pos[:, enemy] != np.asarray(ABSENT)[enemy]
            found["spawn"][:, me] += there & (pos[:, me] == heroes["spawn"][:, enemy])
            close = there & (to_square[pos[:, me], pos[:, enemy]] <= 2)
            wins, loses = duel[life[:, me], life[:, enemy]], duel[life[:, enemy], life[:, me]]
            if me < enemy:
                caught = (tavern[:, enemy] > 1) | (gold[:, enemy] < BEER_COST) | (life[:, enemy] <= BLOW)
                prey = close & wins & caught
                danger = close & ~wins & (tavern[:, me] > 1)
                found["danger"][:, me] += danger * mines[:, me]
            else:
                caught = (tavern[:, me] > 1) | (gold[:, me] < BEER_COST) | (life[:, me] <= BLOW)
                danger = close & loses & caught
                prey = close & ~loses & (tavern[:, enemy] > 1)
                found["danger"][:, me] += danger * (mines[:, me] + 1)
            found["prey"][:, me] += prey * mines[:, enemy]
    return found


def finished_games(paths: Iterable[Path]) -> Iterator[tuple[Path, GameRecord]]:
    """Yield each game in files of game records that was finished without a crash or a forfeit, with its file, and only once."""
    seen: set[tuple[Path, str]] = set()
    for path in paths:
        for record in read_records(path):
            if record.ending == Reason.FINISHED and CRASH not in record.moves and (path, record.id) not in seen:
                seen.add((path, record.id))
                yield path, record


def dataset_of(paths: Iterable[Path], every: int, holdout: float) -> Dataset:
    """Return the positions of all games in files of game records that were finished without a crash or a forfeit.

    `every` is the number of rounds between two positions. `holdout` (0..1) is the share of the maps for validation. Raises
    `UsageError` if there is no such game, or for a faulty record.
    """
    parts: list[dict[str, NDArray[Any]]] = []
    bots: list[tuple[str, ...]] = []
    maps: dict[str, int] = {}
    for path, record in finished_games(paths):
        try:
            part = positions_of(record, every)
        except GameRecordError as problem:
            raise UsageError(f"{short(path)}: {problem.message}") from None
        if not part:
            continue
        number = maps.setdefault(record.game_map().digest, len(maps))
        size = len(part["left"])
        part |= {"game": np.full(size, len(bots), np.int32), "map": np.full(size, number, np.int32)}
        bots.append(record.names)
        parts.append(part)
    if not parts:
        raise UsageError("these files have no finished game without a crash or a forfeit")
    columns = {name: np.concatenate([part[name] for part in parts]) for name in (*COLUMNS, *SINGLES)}
    validation = np.array([for_validation(digest, holdout) for digest in maps])
    return Dataset(columns, np.array(bots), np.array(list(maps)), validation)
