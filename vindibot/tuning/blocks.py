"""Blocks: pairs of games in which two bots, plus and minus, exchange their seats.

A block has one map, one set of seeds and one arrangement of the seats. In the second game, plus has the seats of minus and minus
has the seats of plus (antithetic seats). So the map, the seats and the rivals favour neither bot. The difference of a block is
the mean score of plus less the mean score of minus.

In some blocks the two other seats belong to rivals from a pool. In the other blocks plus and minus have two seats each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from sim.game import SEATS
from vindibot.arena.mapsets import MapSet
from vindibot.arena.results import GameLine
from vindibot.arena.schedule import GameTask, SeatTask, wall_seconds
from vindibot.arena.seats.entrants import Entrant, Limits
from vindibot.base.seeds import derive_seed
from vindibot.config.bots import Bot
from vindibot.tuning.objectives import OBJECTIVES, mean_score

#: The labels of the two bots in the games.
PLUS, MINUS = "plus", "minus"
#: Number of games in a block.
GAMES = 2


@dataclass(frozen=True)
class BlockResult:
    """The result of a block: numbers by objective.

    `difference` is the mean score of plus less the mean score of minus. `level` is the mean of both scores. `rivals` are the
    labels of the rivals, in the order of their seats. If a game could not be played, `failed` is true and all numbers are 0.
    """

    difference: Mapping[str, float]
    level: Mapping[str, float]
    rivals: tuple[str, ...] = ()
    failed: bool = False


@dataclass(frozen=True)
class BlockMaker:
    """Makes the games of blocks. If the fields, the number of the block and the two bots are equal, the games are equal.

    `identity` is the digest of the study. `pool` has the rivals. `self_share` is the share (0..1) of the blocks without rivals.
    `rounds` is the length of a game.
    """

    identity: str
    seed: int
    maps: MapSet
    pool: tuple[Entrant, ...]
    self_share: float
    limits: Limits
    rounds: int

    def tasks(self, number: int, plus: Bot, minus: Bot) -> list[GameTask]:
        """Return the two games of block `number` (from 0) between `plus` and `minus`."""
        rng = np.random.default_rng(derive_seed(self.seed, "seats", number))
        rivals = [] if not self.pool or rng.random() < self.self_share else self._rivals(rng)
        own = (SEATS - len(rivals)) // 2
        bots = Entrant(PLUS, "bot", self.limits, plus), Entrant(MINUS, "bot", self.limits, minus)
        roles = rng.permutation(SEATS).tolist()
        first, second = (
            [bots[(role >= own) ^ swapped] if role < 2 * own else rivals[role - 2 * own] for role in roles] for swapped in (0, 1)
        )
        where = self.maps.of_block(number)
        seeds = [derive_seed(self.seed, "bot", number, seat) for seat in range(SEATS)]
        found = []
        for game, line_up in enumerate((first, second)):
            seats = tuple(SeatTask(entrant, seed) for entrant, seed in zip(line_up, seeds, strict=True))
            found.append(
                GameTask(
                    tournament=self.identity,
                    format="ab",
                    block=number,
                    game=game,
                    games=GAMES,
                    map_text=where.text(),
                    map_name=where.name or where.digest,
                    seed=derive_seed(self.seed, "game", number),
                    rounds=self.rounds,
                    seats=seats,
                    wall_s=wall_seconds(seats, self.rounds),
                )
            )
        return found

    def _rivals(self, rng: np.random.Generator) -> list[Entrant]:
        """Return two rivals from the pool. They are different if the pool has at least two."""
        count = len(self.pool)
        return [self.pool[index] for index in rng.choice(count, 2, replace=count < 2)]


def result_of(lines: Sequence[GameLine]) -> BlockResult:
    """Return the result of a block. `lines` has the results of its games."""
    rivals = tuple(seat.bot for seat in lines[0].seats if seat.bot not in (PLUS, MINUS))
    if any(line.ending == "aborted" for line in lines):
        nothing: dict[str, float] = dict.fromkeys(OBJECTIVES, 0.0)
        return BlockResult(nothing, nothing, rivals, failed=True)
    plus = {one: fmean(mean_score(line, one, PLUS) for line in lines) for one in OBJECTIVES}
    minus = {one: fmean(mean_score(line, one, MINUS) for line in lines) for one in OBJECTIVES}
    return BlockResult(
        {str(one): round(plus[one] - minus[one], 6) for one in OBJECTIVES},
        {str(one): round((plus[one] + minus[one]) / 2, 6) for one in OBJECTIVES},
        rivals,
    )
