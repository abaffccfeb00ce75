"""Positions of recorded games as columns of numbers, in a file of NumPy (.npz).

**Which positions.** A game gives a position at every `every` rounds, always before the move of hero 1, so that all heroes have
the same number of rounds left. The first position is in one of the rounds 0 to `every` - 1; a digest of the game selects this
round. So the positions of a game are far apart, and all rounds occur equally often. Only finished games are used, and games with
forfeits are left out.

**Which columns.** `COLUMNS` has one entry per position and hero, the others one entry per position (see `COLUMNS`, `SINGLES`).

**How it is split.** A map is either for fitting or for validation, by a digest of its tiles. So no position for validation is
from a game or a map that a fit has seen. The positions of one map are never split.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behaviours.common.duel import duel_table
from behaviours.common.evaluation import Weights
from behaviours.common.map_tables import AWAY, MAX_MINES, map_tables_of
from sim.game import ABSENT, BEER_COST, BLOW, CELLS, MAX_LIFE, MINE, MINE_COST, PLIES_PER_ROUND, SEATS
from vindibot.base import UsageError, replace, short
from vindibot.games import GameHistory, GameRecord, GameRecordError, Reason, read_records

#: The columns with an entry per position and hero (n x 4), with their types.
#:
#: - `gold`, `mines`, `life`: of the hero, in the position. `final`: its gold at the end of the game.
#: - `tavern`: the number of moves to the nearest tavern, `mine`: to the nearest mine that the hero does not own (255: none).
#: - `reach`: the discounted number of foreign mines in reach; `loss`: of own mines that a rival reaches first; `drink`: the
#:   discount of the nearest tavern if the hero can pay. They follow `behaviours.common.evaluation` with its default discounts.
#: - `danger`: the number of own mines plus 1 if an enemy can strike first and win; `prey`: the number of mines of enemies that
#:   the hero can strike first and beat, `spawn`: the number of enemies on whose spawn square the hero stands.
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
#: The columns with an entry per position: the number of the game and of the map, the round, and the number of rounds left.
SINGLES = {"game": np.int32, "map": np.int32, "round": np.int16, "left": np.int16}
_VERSION = 1
_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Dataset:
    """Positions. `columns` has the columns of `COLUMNS` and `SINGLES`.

    `bots` (games x 4) has the labels of the bots of each game. `maps` has the digest of each map, and `validation` says which
    maps are for validation only.
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
        """Return the positions for fitting and those for validation.

        With bots in `without`, games with one of these bots are for validation only.
        """
        other_map = self.validation[self.columns["map"]]
        of_game = np.array([bool(set(without) & set(names)) for names in self.bots.tolist()])
        other_bot = of_game[self.columns["game"]]
        fitted = ~other_map & ~other_bot
        held = (other_map & other_bot) if without else other_map
        return self.rows(fitted), self.rows(held)

    def save(self, path: Path) -> None:
        """Write the file. Raises `UsageError` if it cannot be written."""
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
        """Read the file. Raises `UsageError` if it is no file of positions."""
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
    """Return whether a file is missing, or has positions."""
    if not path.exists():
        return True
    try:
        Dataset.load(path)
    except UsageError:
        return False
    return True


def for_validation(digest: str, share: float) -> bool:
    """Return whether a map is for validation only. `digest` is that of the map, `share` the share of such maps."""
    number = int.from_bytes(hashlib.blake2b(digest.encode(), digest_size=4).digest(), "big")
    return number < share * 2**32


def rounds_of(name: str, rounds: int, every: int) -> range:
    """Return the rounds of the positions of a game. `name` is a digest of the game."""
    first = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=4).digest(), "big") % every
    return range(first, rounds, every)


def positions_of(record: GameRecord, every: int) -> dict[str, NDArray[Any]]:
    """Return the columns of the positions of a game, without `game` and `map`. Raises `GameRecordError` for a faulty record."""
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
    """Return the columns about mines and taverns. They follow `behaviours.common.evaluation._square_value`."""
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
    """Return the columns about enemies at most two moves away. They follow `behaviours.common.evaluation._fight_value`."""
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


def dataset_of(paths: Iterable[Path], every: int, holdout: float) -> Dataset:
    """Return the positions of all finished games in files of game records. Raises `UsageError` if there is none."""
    parts: list[dict[str, NDArray[Any]]] = []
    bots: list[tuple[str, ...]] = []
    maps: dict[str, int] = {}
    seen: set[tuple[Path, str]] = set()
    for path in paths:
        for record in read_records(path):
            if record.ending != Reason.FINISHED or (path, record.id) in seen:
                continue
            seen.add((path, record.id))
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
        raise UsageError("there is no finished game in these files")
    columns = {name: np.concatenate([part[name] for part in parts]) for name in (*COLUMNS, *SINGLES)}
    validation = np.array([for_validation(digest, holdout) for digest in maps])
    return Dataset(columns, np.array(bots), np.array(list(maps)), validation)
