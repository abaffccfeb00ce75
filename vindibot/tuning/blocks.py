"""Blocks: pairs of games in which a variant of a bot and the bot itself exchange their seats.

A block has one map, one set of seeds and one arrangement of the seats. In the second game, plus (the variant) has the seats of
minus (the bot) and minus has the seats of plus. So the map, the seats and the rivals favour neither. The difference of a block is
the mean score of plus less the mean score of minus.

In some blocks the two other seats belong to rivals from a pool. In the other blocks plus and minus have two seats each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from sim.game import SEATS
from sim.generator import derive_seed
from vindibot.arena.results import GameLine
from vindibot.arena.schedule import GameTask, MapSet, SeatTask, wall_seconds
from vindibot.arena.seats.entrants import Entrant, Limits
from vindibot.config.bots import Bot
from vindibot.tuning.settings import Objective

#: The labels of the two bots in the games.
PLUS, MINUS = "plus", "minus"
#: Number of games in a block.
GAMES = 2
#: This gold is added before the logarithm, so that a hero without gold has a finite score.
_GOLD = 20.0


@dataclass(frozen=True)
class BlockMaker:
    """Makes the games of blocks. If the fields, the key of the block and the two bots are equal, the games are equal.

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

    def tasks(self, number: int, key: int, plus: Bot, minus: Bot) -> list[GameTask]:
        """Return the two games of a block between `plus` and `minus`.

        `number` identifies the block in the study. `key` determines its map, its seats and its seeds: blocks with the same key
        differ only in their bots.
        """
        rng = np.random.default_rng(derive_seed(self.seed, "seats", key))
        rivals = [] if not self.pool or rng.random() < self.self_share else self._rivals(rng)
        own = (SEATS - len(rivals)) // 2
        bots = Entrant(PLUS, "bot", self.limits, plus), Entrant(MINUS, "bot", self.limits, minus)
        roles = rng.permutation(SEATS).tolist()
        board = self.maps.of_block(key)
        seeds = [derive_seed(self.seed, "bot", key, seat) for seat in range(SEATS)]
        tasks = []
        for game, swapped in enumerate((False, True)):
            line_up = [bots[(role >= own) ^ swapped] if role < 2 * own else rivals[role - 2 * own] for role in roles]
            seats = tuple(SeatTask(entrant, seed) for entrant, seed in zip(line_up, seeds, strict=True))
            tasks.append(
                GameTask(
                    tournament=self.identity,
                    format="ab",
                    block=number,
                    game=game,
                    games=GAMES,
                    map_text=board.text(),
                    map_name=board.name or board.digest,
                    seed=derive_seed(self.seed, "game", key),
                    rounds=self.rounds,
                    seats=seats,
                    wall_s=wall_seconds(seats, self.rounds),
                )
            )
        return tasks

    def _rivals(self, rng: np.random.Generator) -> list[Entrant]:
        """Return two rivals from the pool. They are different if the pool has at least two."""
        count = len(self.pool)
        return [self.pool[index] for index in rng.choice(count, 2, replace=count < 2)]


def difference(games: Sequence[GameLine], objective: Objective) -> float:
    """Return the difference of a block, NaN if one of its games could not be played."""
    if any(game.ending == "aborted" for game in games):
        return math.nan
    plus, minus = (fmean(mean_score(game, objective, label) for game in games) for label in (PLUS, MINUS))
    return round(plus - minus, 6)


def mean_score(game: GameLine, objective: Objective, label: str) -> float:
    """Return the mean score of the seats of the bot `label` in a game."""
    scores = seat_scores(game, objective)
    return fmean(score for seat, score in zip(game.seats, scores, strict=True) if seat.bot == label)


def seat_scores(game: GameLine, objective: Objective) -> list[float]:
    """Return the score of each seat of a game, hero 1 first."""
    golds = [seat.gold for seat in game.seats]
    if objective == "place":
        return [(len(golds) - seat.place) / (len(golds) - 1) for seat in game.seats]
    if objective == "win":
        best = max(golds)
        return [(gold == best) / golds.count(best) for gold in golds]
    return [math.log(gold + _GOLD) for gold in golds]
