"""Plain minimax: every move is tried, nothing is cut off, nothing is stored.

`Minimax` follows the description of `behaviours.search.engine` word for word. In `max_n` every hero maximises its own score.
Rules, evaluation and policy come from the kernels, which other tests check separately.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from behaviours.common.evaluation import Weights, compiled_weights, score
from behaviours.common.map_tables import map_tables_of
from behaviours.common.policy import policy
from behaviours.search.deepening import SearchParams
from behaviours.search.records import BEST_REPLY, PARANOID
from sim.game import BLOW, RUNNING, STAY, UNDO, Games
from sim.maps import map_of
from sim.rules import effective_moves, step_back, step_saving


def moves_of(games: Games, hero: int) -> list[int]:
    """Return the directions that have an effect, Stay first."""
    mask = effective_moves(games, 0, hero)
    return [move for move in range(5) if mask >> move & 1]


class Line:
    """A game whose plies can be played and taken back."""

    def __init__(self, games: Games) -> None:
        self.games = games.copy()
        self._undos = np.zeros(128, UNDO)
        self._played = 0

    @property
    def hero(self) -> int:
        """The hero to move, 0..3."""
        return int(self.games["turn"].item(0)) & 3

    @property
    def running(self) -> bool:
        """Whether the game is not over."""
        return bool(self.games["status"].item(0) == RUNNING)

    def play(self, move: int) -> int:
        """Play a ply. Return the set of heroes that died, as bits."""
        assert step_saving(self.games, 0, move, self._undos, self._played)
        self._played += 1
        return int(self._undos["deaths"].item(self._played - 1))

    def take_back(self) -> None:
        """Take the last ply back."""
        self._played -= 1
        step_back(self.games, 0, self._undos, self._played)


@dataclass
class Minimax:
    """Minimax by definition, for one game and one set of parameters."""

    games: Games
    params: SearchParams
    weights: Weights

    def __post_init__(self) -> None:
        self.line = Line(self.games)
        self.tables = map_tables_of(map_of(self.games))
        self.compiled = compiled_weights(self.weights)
        self.deaths = 0

    def _after(self, move: int, left: int, quiescence: int, deviated: bool) -> int:
        """Return the value after a move. It includes a death of ours in this move."""
        died = self.line.play(move) >> self.params.me & 1
        self.deaths += died
        value = self._value(left, quiescence, deviated)
        self.deaths -= died
        self.line.take_back()
        return value

    def scores(self, depth: int) -> list[int | None]:
        """Return the score of each direction at `depth` plies, its own ply included; None for a direction without effect."""
        found: list[int | None] = [None] * 5
        for move in moves_of(self.line.games, self.params.me):
            found[move] = self._after(move, depth - 1, self.params.quiescence, False)
        return found

    def _value(self, left: int, quiescence: int, deviated: bool) -> int:
        """Return the score `left` plies deep, then up to `quiescence` more. `deviated`: an opponent deviated in this round."""
        params, line, hero = self.params, self.line, self.line.hero
        fighting = False
        if left == 0 or not line.running:
            fighting = line.running and quiescence > 0 and self._undecided()
            if not fighting:
                return self._leaf()
        enemy = hero != params.me
        active = bool(params.active >> hero & 1)
        free = not enemy or active
        if fighting:
            free = free and self._moves_to(hero) <= 3
        elif enemy and params.mode != PARANOID and deviated:
            free = False
        stands = params.mode == BEST_REPLY and active
        usual = policy(line.games, 0, hero, self.tables) if enemy and not stands else STAY
        values = []
        for move in moves_of(line.games, hero) if free else [usual]:
            after = deviated or (enemy and active and move != usual)
            if not enemy or (hero + 1) % 4 == params.me:
                after = False  # a new round of the opponents
            values.append(self._after(move, max(0, left - 1), quiescence if left else quiescence - 1, after))
        return min(values) if enemy else max(values)

    def _leaf(self) -> int:
        """Return the evaluation less the penalties of our deaths on the way here."""
        value = score(self.line.games, 0, self.params.me, self.tables, self.compiled)
        return int(value) - self.deaths * self.params.death

    def _moves_to(self, hero: int) -> int:
        """Return the distance from us to a hero in squares, rows plus columns."""
        places = self.line.games["hero"]["pos"][0].tolist()
        (row, column), (other_row, other_column) = divmod(places[self.params.me], 32), divmod(places[hero], 32)
        return abs(row - other_row) + abs(column - other_column)

    def _undecided(self) -> bool:
        """Return whether an active enemy is within two squares, and the next blow would kill it or us."""
        lives = self.line.games["hero"]["life"][0].tolist()
        for enemy in range(4):
            if enemy == self.params.me or not self.params.active >> enemy & 1:
                continue
            if self._moves_to(enemy) <= 2 and min(lives[enemy], lives[self.params.me]) <= BLOW:
                return True
        return False
