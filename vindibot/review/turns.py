"""The turns of a game that can be reviewed, and the review of one turn: the values of all moves, the loss of the played move, its
class and kind, and the expected lines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from behaviours.base import RECENT_TURNS, Budget, View
from sim.game import BLOW, CRASH, DIRECTIONS, GAME, MINE, OFFSET, PLIES_PER_ROUND, RUNNING, STAY, TAVERN, TILE_BITS, Games
from vindibot.config.bots import Bot, name_to_load
from vindibot.config.signature import build, digest_of
from vindibot.engine.asking import best_moves
from vindibot.games.files.review import LONGEST_LINE, PHASES, Kind, MoveValue, ReviewedTurn, ReviewHeader, Thresholds
from vindibot.games.history import GameHistory
from vindibot.games.position import write_moves
from vindibot.review.mistakes import Cycle, CycleFinder, kind_of
from vindibot.review.values import SEED, Outcomes, Valuer, rollout_of

#: All heroes.
HEROES = (0, 1, 2, 3)


@dataclass(frozen=True, eq=False)
class TurnPosition:
    """A turn of one hero.

    - `number`: the number of the state in the history. `turn`: the turn of the protocol. `me`: the hero, 0..3.
    - `games`: the state. `recent`: the states on the hero's earlier turns, oldest first, at most `RECENT_TURNS`.
    - `move`: the direction that was played, 0..4. A direction without an effect counts as Stay.
    - `cycle`: the cycle in which the hero is, None if it is in none.
    """

    number: int
    turn: int
    me: int
    move: int
    games: Games = field(repr=False)
    recent: Games = field(repr=False)
    cycle: Cycle | None = None

    def view(self, nodes: int | None = None) -> View:
        """Return the view of the hero on this turn, with a search budget of `nodes` nodes, None for no limit."""
        return View(self.games.copy(), self.me, recent=self.recent.copy(), budget=Budget(nodes=nodes))


def positions(history: GameHistory, heroes: Collection[int] = HEROES) -> Iterator[TurnPosition]:
    """Yield the turns of `heroes` (0..3) in order, without turns of crashed heroes and turns whose move is unknown."""
    before: list[list[Games]] = [[] for _ in HEROES]
    cycles = CycleFinder(history)
    for ply in history:
        games = ply.before
        me = int(games["turn"].item(0)) % PLIES_PER_ROUND
        move = ply.move
        if move is None and ply.number in history.ballots:
            move = history.ballots[ply.number].direction
        crashed = bool(games["hero"]["crashed"][0, me]) or move == CRASH
        if me in heroes and move is not None and not crashed and games["status"].item(0) == RUNNING:
            recent = np.concatenate(before[me]) if before[me] else np.zeros(0, GAME)
            view, cycle = View(games, me), cycles.cycle_of(ply.number, me)
            yield TurnPosition(ply.number, view.turn, me, move if move in view.moves else STAY, games, recent, cycle)
        before[me] = [*before[me][1 - RECENT_TURNS :], games]


#: Largest number of steps to an enemy that is near, and largest life of a weak hero: two blows kill it.
NEAR_STEPS, WEAK_LIFE = 3, 2 * BLOW


def _tiles_beside(view: View) -> list[int]:
    return [int(view.cells[view.pos + int(offset)]) & TILE_BITS for offset in OFFSET[1:]]


def _beside_mine(view: View) -> bool:
    return any(tile >= MINE and tile != MINE + 1 + view.me for tile in _tiles_beside(view))


#: The situations in the order in which they are tried, each with its rule. The first rule that applies gives the situation.
_RULES: tuple[tuple[str, Callable[[View], bool]], ...] = (
    ("enemy beside it", lambda view: bool(view.enemies_beside(view.pos))),
    ("enemy within 3 steps", lambda view: bool(view.near(NEAR_STEPS))),
    ("life at most 40", lambda view: view.life <= WEAK_LIFE),
    ("beside a tavern", lambda view: TAVERN in _tiles_beside(view)),
    ("beside a mine to take", _beside_mine),
)
#: The names of all situations.
SITUATIONS = (*(name for name, _ in _RULES), "on its way")


def situation_of(view: View) -> str:
    """Return the situation of the view's hero: the first of `SITUATIONS` that applies."""
    return next((name for name, applies in _RULES if applies(view)), SITUATIONS[-1])


def phase_of(turn: int, max_turns: int) -> str:
    """Return the phase of a turn in a game of `max_turns` plies: the third of the game."""
    return PHASES[min(len(PHASES) - 1, len(PHASES) * turn // max(1, max_turns))]


#: Smallest loss, in gold and in standard errors, for which the reviewing bot is asked for its own move.
ASK_GOLD, ASK_ERRORS = 2.0, 2.0


@dataclass(frozen=True)
class Reviewer:
    """A reviewing bot and the settings of a review.

    - `bot`: the bot whose playouts value the moves. It is also asked for its own move.
    - `nodes`: the number of plies that are played out per turn, and the bot's search budget for its own move.
    - `rounds`: the length of a playout in rounds, 0 for a playout to the end of the game.
    - `thresholds`: the smallest losses of bad moves. `seed`: the seed of the scenarios.
    """

    bot: Bot
    nodes: int
    rounds: int
    thresholds: Thresholds
    seed: int = SEED

    def header(self, game: str, heroes: Collection[int]) -> ReviewHeader:
        """Return the header of the review of heroes (0..3) of a game. Raises `UsageError` if the bot has no trait `rollout`."""
        rollout_of(self.bot)
        digest = digest_of({"build": build().digest, "bot": self.bot.digest, "run": [self.nodes, self.rounds, self.seed]})
        ids = tuple(sorted(hero + 1 for hero in heroes))
        return ReviewHeader(
            game=game,
            heroes=ids,
            bot=name_to_load(self.bot) or self.bot.name,
            digest=digest,
            nodes=self.nodes,
            rounds=self.rounds,
            thresholds=self.thresholds,
        )

    @cached_property
    def valuer(self) -> Valuer:
        """The object that values moves by the rollouts of the bot."""
        return Valuer(rollout_of(self.bot), self.nodes, self.rounds, self.seed)

    @cached_property
    def long_valuer(self) -> Valuer:
        """The object that values moves in a cycle: its playouts go to the end of the game.

        A cycle can last longer than a playout. Then the end of a short playout does not show what the cycle costs.
        """
        return self.valuer if self.rounds == 0 else Valuer(rollout_of(self.bot), self.nodes, 0, self.seed)

    def choice(self, position: TurnPosition) -> set[str]:
        """Return the moves that the bot itself may play on this turn; several may tie."""
        return best_moves(self.bot, position.view(self.nodes))


def review_turn(position: TurnPosition, reviewer: Reviewer) -> ReviewedTurn:
    """Return the review of one turn of one hero by `reviewer`."""
    view = position.view()
    valuer, thresholds = reviewer.valuer if position.cycle is None else reviewer.long_valuer, reviewer.thresholds
    outcomes = valuer.outcomes(view)
    own = outcomes.gold[:, :, view.me]
    best, played = int(own.mean(axis=0).argmax()), outcomes.moves.index(position.move)
    values = tuple(_value(outcomes, number, best, view.me) for number in range(len(outcomes.moves)))
    loss, error = values[played].less, values[played].less_error
    choice = reviewer.choice(position) if loss >= max(ASK_GOLD, ASK_ERRORS * error) else set()
    kind: Kind = ""
    if best != played:
        lines = outcomes.lines[:, played], outcomes.lines[:, best]
        kind = kind_of(view, position.cycle, position.move, outcomes.moves[best], *lines)
    scenario = _typical(own[:, [played, best]])
    turn = ReviewedTurn(
        turn=position.turn,
        hero=view.me + 1,
        move=DIRECTIONS[position.move],
        best=DIRECTIONS[outcomes.moves[best]],
        loss=loss,
        loss_error=error,
        choice=tuple(sorted(choice)),
        kind=kind,
        values=values,
        best_line=_text(outcomes.lines[scenario, best]),
        played_line=_text(outcomes.lines[scenario, played]),
        nodes=outcomes.nodes,
    )
    return turn.model_copy(update={"mark": thresholds.mark_of(turn)})


def _value(outcomes: Outcomes, number: int, best: int, me: int) -> MoveValue:
    gold, count = outcomes.gold[:, number], len(outcomes.gold)
    less = outcomes.gold[:, best, me] - gold[:, me]
    return MoveValue(
        move=DIRECTIONS[outcomes.moves[number]],
        gold=tuple(round(value, 1) for value in gold.mean(axis=0).tolist()),
        gold_error=tuple(round(value, 2) for value in (gold.std(axis=0, ddof=1) / count**0.5).tolist()),
        less=round(float(less.mean()), 2),
        less_error=round(float(less.std(ddof=1)) / count**0.5, 2),
    )


def _typical(gold: NDArray[np.float64]) -> int:
    """Return the number of the scenario whose results are nearest to the mean results.

    `gold` has the results: float64[scenarios, moves]. The distance is in standard deviations, summed over the moves.
    """
    away = np.abs(gold - gold.mean(axis=0)) / np.maximum(gold.std(axis=0), 1e-9)
    return int(away.sum(axis=1).argmin())


def _text(line: NDArray[np.int8]) -> str:
    return write_moves(move for move in line[:LONGEST_LINE].tolist() if move >= 0)
