"""The search once more, as plainly as can be: every move tried, nothing cut off, nothing remembered.

`minimax` follows the description of `behaviours.search.engine` word for word; `max_n` lets every hero look after himself.
Rules, evaluation and policy are the kernels', which have second opinions of their own (`reference`, `reference_evaluation`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """The directions that have an effect of their own, Stay first."""
    mask = effective_moves(games, 0, hero)
    return [move for move in range(5) if mask >> move & 1]


class Line:
    """A game with the plies played in it, to be taken back one after the other."""

    def __init__(self, games: Games) -> None:
        self.games = games.copy()
        self._undos = np.zeros(128, UNDO)
        self._played = 0

    @property
    def hero(self) -> int:
        """Who is to move, 0..3."""
        return int(self.games["turn"].item(0)) & 3

    @property
    def running(self) -> bool:
        """Whether the game goes on."""
        return bool(self.games["status"].item(0) == RUNNING)

    def play(self, move: int) -> int:
        """Play a ply; returns who died of it, a bit for each."""
        assert step_saving(self.games, 0, move, self._undos, self._played)
        self._played += 1
        return int(self._undos["deaths"].item(self._played - 1))

    def take_back(self) -> None:
        """Take the last ply back."""
        self._played -= 1
        step_back(self.games, 0, self._undos, self._played)


@dataclass
class Minimax:
    """Minimax by definition, for one question about one game."""

    games: Games
    question: SearchParams
    weights: Weights

    def __post_init__(self) -> None:
        self.line = Line(self.games)
        self.tables = map_tables_of(map_of(self.games))
        self.compiled = compiled_weights(self.weights)
        self.killed_by = 0

    def _after(self, move: int, left: int, calm: int, deviated: bool) -> int:
        """The value after a move; meanwhile a death of ours is counted."""
        died = self.line.play(move) >> self.question.me & 1
        self.killed_by += died
        value = self._value(left, calm, deviated)
        self.killed_by -= died
        self.line.take_back()
        return value

    def scores(self, depth: int) -> list[int | None]:
        """The score of each direction, searched `depth` plies (its own included); None for those without effect."""
        found: list[int | None] = [None] * 5
        for move in moves_of(self.line.games, self.question.me):
            found[move] = self._after(move, depth - 1, self.question.quiescence, False)
        return found

    def _value(self, left: int, calm: int, deviated: bool) -> int:
        """`left` plies to go, then `calm` more while a fight is undecided; `deviated`: an opponent has done so this round."""
        question, line, hero = self.question, self.line, self.line.hero
        fighting = False
        if left == 0 or not line.running:
            fighting = line.running and calm > 0 and self._undecided()
            if not fighting:
                return self._leaf()
        enemy = hero != question.me
        active = bool(question.active >> hero & 1)
        free = not enemy or active
        if fighting:
            free = free and self._moves_to(hero) <= 3
        elif enemy and question.mode != PARANOID and deviated:
            free = False
        stands = question.mode == BEST_REPLY and active
        usual = policy(line.games, 0, hero, self.tables) if enemy and not stands else STAY
        values = []
        for move in moves_of(line.games, hero) if free else [usual]:
            after = deviated or (enemy and active and move != usual)
            if not enemy or (hero + 1) % 4 == question.me:
                after = False  # a new round of theirs
            values.append(self._after(move, max(0, left - 1), calm if left else calm - 1, after))
        return min(values) if enemy else max(values)

    def _leaf(self) -> int:
        """The evaluation, less the price of our deaths on the way here."""
        value = score(self.line.games, 0, self.question.me, self.tables, self.compiled)
        return int(value) - self.killed_by * self.question.death

    def _moves_to(self, hero: int) -> int:
        """Squares between us and a hero, there and over."""
        places = self.line.games["hero"]["pos"][0].tolist()
        (row, column), (his_row, his_column) = divmod(places[self.question.me], 32), divmod(places[hero], 32)
        return abs(row - his_row) + abs(column - his_column)

    def _undecided(self) -> bool:
        """Whether an active enemy is within two squares, and the next blow would kill him or us."""
        lives = self.line.games["hero"]["life"][0].tolist()
        for enemy in range(4):
            if enemy == self.question.me or not self.question.active >> enemy & 1:
                continue
            if self._moves_to(enemy) <= 2 and min(lives[enemy], lives[self.question.me]) <= BLOW:
                return True
        return False


def max_n(line: Line, worth: Callable[[], Sequence[int]], depth: int) -> tuple[Sequence[int], int]:
    """Every hero does what is best for himself, the first of equal moves: all four scores after `depth` plies, and his move.

    `worth` scores the line's game for each hero. Luckhardt and Irani, 1986.
    """
    if depth == 0 or not line.running:
        return worth(), STAY
    hero, best, choice = line.hero, None, STAY
    for move in moves_of(line.games, hero):
        line.play(move)
        scores, _ = max_n(line, worth, depth - 1)
        line.take_back()
        if best is None or scores[hero] > best[hero]:
            best, choice = scores, move
    assert best is not None
    return best, choice


def worth_for_all(line: Line, weights: Weights) -> Callable[[], list[int]]:
    """The evaluation of a line's game for each hero, by the kernel."""
    tables, compiled = map_tables_of(map_of(line.games)), compiled_weights(weights)
    return lambda: [int(score(line.games, 0, hero, tables, compiled)) for hero in range(4)]
