"""Decision list: check rules in their order, and follow the first rule that applies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from behaviours.base import Behaviour, View, Votes
from behaviours.common.combat_map import danger
from behaviours.common.duel import duel, killed_by
from behaviours.common.targets import first_steps, foreign_mines, is_broke, rival, taverns_beside
from sim.game import BEER_COST, MAX_LIFE, MINE, MINE_COST, STAY, TILE_BITS
from sim.paths import FAR, NOTHING_BLOCKED, distances_from

Rule = Literal["kill", "strike", "flee", "drink", "refill", "tavern", "hunt", "rob", "mine", "rest"]


class DecisionList(Behaviour):
    """Vote 1 for each move of the first rule in `rules` that applies.

    - `kill`: a move that kills an enemy and not us.
    - `strike`: stay beside an enemy if we win a duel against every enemy beside us.
    - `flee`: if an enemy beside us wins a duel, the move that leads farthest from this enemy.
    - `drink`: beside a tavern, a beer at `drink` life or less.
    - `refill`: beside a tavern and with an enemy within two moves, a beer at 80 life or less.
    - `tavern`: a first step to the nearest tavern, at `thirst` life or less.
    - `hunt`: a first step to the nearest prey. A prey is an enemy within `reach` moves that owns at least `greed` mines. On our
      arrival, its life must be at least `margin` below our life.
    - `rob`: a first step to the nearest mine of the enemy with the most projected gold.
    - `mine`: a first step to the nearest mine that is not ours.
    - `rest`: a first step to the nearest tavern, or Stay beside this tavern.

    `rob` and `mine` apply only if at least `reserve` life is left after taking the mine.
    """

    rules: tuple[Rule, ...] = Field(
        ("kill", "strike", "refill", "drink", "tavern", "mine", "rest"), max_length=16, description="the rules in their order"
    )
    drink: int = Field(60, ge=0, le=99, description="largest life with which the hero drinks beside a tavern")
    thirst: int = Field(30, ge=0, le=99, description="largest life with which the hero goes to a tavern")
    reserve: int = Field(5, ge=0, le=79, description="life that must be left after taking a mine")
    reach: int = Field(8, ge=1, le=99, description="largest distance of a prey, in moves")
    margin: int = Field(5, ge=-99, le=99, description="lead in life over a prey that the hero needs; larger: safer prey")
    greed: int = Field(1, ge=0, le=99, description="smallest number of mines of a prey")
    careful: bool = Field(False, description="whether ways avoid squares with a negative value in the combat map (with `duel`)")

    def vote(self, view: View) -> Votes:
        """Return 1 for each move of the first rule that applies, or None."""
        by_name: dict[Rule, Callable[[View], list[int]]] = {
            "kill": self._kill,
            "strike": self._strike,
            "flee": self._flee,
            "drink": self._drink,
            "refill": self._refill,
            "tavern": self._tavern,
            "hunt": self._hunt,
            "rob": self._rob,
            "mine": self._mine,
            "rest": self._rest,
        }
        for rule in self.rules:
            moves = by_name[rule](view)
            if moves:
                return dict.fromkeys(moves, 1.0)
        return None

    def _blocked(self, view: View) -> NDArray[np.uint8]:
        """Return the squares that ways avoid, as uint8[1024] (1: avoid)."""
        return danger(view) if self.careful else NOTHING_BLOCKED

    def _kill(self, view: View) -> list[int]:
        kills = ((move, killed_by(view, move)) for move in view.moves)
        return [move for move, dead in kills if dead and view.me not in dead]

    def _strike(self, view: View) -> list[int]:
        beside = view.enemies_beside(view.pos)
        return [STAY] if beside and all(duel(view.games, view.me, enemy) > 0 for enemy in beside) else []

    def _flee(self, view: View) -> list[int]:
        places = view.games["hero"]["pos"][0].tolist()
        stronger = [places[enemy] for enemy in view.enemies_beside(view.pos) if duel(view.games, view.me, enemy) < 0]
        if not stronger:
            return []
        away = {move: min(int(view.map.distances[view.landing(move), place]) for place in stronger) for move in view.moves}
        return [move for move in away if away[move] == max(away.values())]

    def _drink(self, view: View) -> list[int]:
        return [move for move in taverns_beside(view) if move in view.moves] if view.life <= self.drink else []

    def _refill(self, view: View) -> list[int]:
        places = view.games["hero"]["pos"][0].tolist()
        close = any(int(view.map.distances[view.pos, places[enemy]]) <= 2 for enemy in view.enemies)
        return [move for move in taverns_beside(view) if move in view.moves] if close and view.life <= MAX_LIFE - 20 else []

    def _tavern(self, view: View) -> list[int]:
        return self._rest(view) if view.life <= self.thirst and not is_broke(view) else []

    def _hunt(self, view: View) -> list[int]:
        heroes = view.games["hero"][0]
        prey: list[tuple[int, int]] = []
        for enemy in view.enemies:
            place = int(heroes["pos"][enemy])
            away = int(view.map.distances[view.pos, place])
            weaker = view.life - away >= int(heroes["life"][enemy]) + self.margin
            if weaker and 1 < away <= self.reach and int(heroes["mines"][enemy]) >= self.greed:
                prey.append((away, place))
        return first_steps(view, [min(prey)[1]]) if prey else []

    def _rob(self, view: View) -> list[int]:
        first = rival(view)
        if first is None:
            return []
        return self._steps_to(view, view.map.mines[view.cells[view.map.mines] & TILE_BITS == MINE + 1 + first])

    def _mine(self, view: View) -> list[int]:
        return self._steps_to(view, foreign_mines(view))

    def _steps_to(self, view: View, mines: NDArray[np.int64]) -> list[int]:
        """Return the first steps to the nearest of `mines`, or [] if too little life would be left after taking it."""
        if len(mines) == 0:
            return []
        blocked = self._blocked(view)
        away = int(distances_from(view.games, 0, mines, blocked)[view.pos])
        enough = away < FAR and view.life - away - MINE_COST >= self.reserve
        return first_steps(view, mines, blocked) if enough else []

    def _rest(self, view: View) -> list[int]:
        beside = taverns_beside(view)
        if beside:
            pays = view.gold >= BEER_COST and view.life <= self.thirst
            return [move for move in beside if move in view.moves] if pays else [STAY]
        return first_steps(view, view.map.taverns, self._blocked(view))
