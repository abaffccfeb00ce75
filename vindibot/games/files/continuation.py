"""Games that go on from a turn of an earlier game."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from behaviours.base import RECENT_TURNS, Budget, View
from sim.board import draw, parse
from sim.game import GAME, PLIES_PER_ROUND, RUNNING, SEATS, Games, copy_of, equal
from sim.replay import moves_of, play_moves
from sim.rules import step
from vindibot.base.errors import UsageError
from vindibot.base.writing import short
from vindibot.games.history import GameHistory


@dataclass(frozen=True)
class Opening:
    """The part of a game that was played before its bots take their seats, as plain data for any process.

    `position` is a drawing of the first state (`sim.board.draw`). `moves` has a byte per ply: 0..4 or `sim.game.CRASH`.
    """

    position: str
    moves: bytes = b""

    @classmethod
    def of(cls, history: GameHistory, number: int) -> Opening:
        """Return the part of a game before state `number`. It begins after the last gap before this state.

        If the moves do not lead to the state exactly (a player may have seen flags that do not follow from moves), the opening
        has no moves.
        """
        start = max((ply + 1 for ply in history.gaps if ply < number), default=0)
        found = cls(draw(history.state(start)), bytes(history.moves[start:number]))
        here = history.state(number)
        return found if equal(found.last(), here) else cls(draw(here))

    def first(self) -> Games:
        """Return the state before the first of the moves."""
        return parse(self.position)

    def last(self) -> Games:
        """Return the state after all moves."""
        games = self.first()
        play_moves(games, 0, moves_of(self.moves))
        return games

    def turns_of(self, me: int) -> Iterator[Games]:
        """Yield the states in which hero `me` (0..3) was to move, oldest first. The state after all moves is left out."""
        games = self.first()
        for move in self.moves:
            if games["turn"].item(0) % SEATS == me:
                yield copy_of(games)
            step(games, 0, move)


@dataclass(frozen=True, eq=False)
class Continuation:
    """A turn of an earlier game, from which new games go on.

    - `history`: the earlier game. `number`: the number of the state of this turn in the history.
    - `hero`: the hero (0..3) of the player that goes on.
    """

    history: GameHistory
    number: int
    hero: int

    @classmethod
    def read(cls, path: Path, turn: int | None, *, game: str | None = None, hero: int | None = None) -> Continuation:
        """Return turn `turn` of a game in a file of any kind that `GameHistory.read` reads.

        Without `turn`, the file must have only one state. Without `hero` (0..3), the hero is our hero of a recording or of an
        answer, else the hero to move. Raises `UsageError` if the game has no such turn, if it is over, or if the hero has
        crashed. Raises `VindibotError` for a file that cannot be read.
        """
        history = GameHistory.read(path, game)
        if not history:
            raise UsageError(f"{short(path)}: the game has no states")
        number = _number_of(history, path, turn)
        games = history.state(number)
        now = history.turn(number)
        if games["status"].item(0) != RUNNING:
            raise UsageError(f"{short(path)}: the game is over on turn {now}: choose an earlier turn with --turn")
        if hero is None:
            hero = history.me if history.me is not None else now % PLIES_PER_ROUND
        if games["hero"]["crashed"].item(hero):
            raise UsageError(f"{short(path)}: hero {hero + 1} has crashed before turn {now}: --hero chooses another hero")
        return cls(history, number, hero)

    @property
    def turn(self) -> int:
        """The protocol's turn."""
        return self.history.turn(self.number)

    @cached_property
    def opening(self) -> Opening:
        """The part of the earlier game before this turn, as far as it is known without a gap."""
        return Opening.of(self.history, self.number)

    def first(self) -> Games:
        """Return the state with which the new games begin. A crash ends none of them, also if the earlier one was for
        training."""
        games = self.opening.last()
        games["training"] = 0
        return games

    def view(self, nodes: int | None, seed: int = 0) -> View:
        """Return the view of the hero on this turn, with a search budget of `nodes` nodes (None: no limit)."""
        games = self.opening.last()
        before = np.concatenate([np.zeros(0, GAME), *self.opening.turns_of(self.hero)])
        return View(games, self.hero, recent=before[-RECENT_TURNS:], budget=Budget(nodes=nodes), seed=seed)

    @property
    def rounds(self) -> int:
        """The number of rounds that are left, the current one included."""
        games = self.history.state(self.number)
        return -(-(int(games["max_turns"].item(0)) - self.turn) // PLIES_PER_ROUND)

    @property
    def others(self) -> tuple[int, ...]:
        """The other three heroes (0..3), in the order in which they move after our hero."""
        return tuple((self.hero + distance) % SEATS for distance in range(1, SEATS))

    def crashed(self, hero: int) -> bool:
        """Return whether a hero (0..3) has crashed before this turn."""
        return bool(self.history.state(self.number)["hero"]["crashed"].item(hero))

    @property
    def gold(self) -> tuple[int, ...] | None:
        """The gold of heroes 1..4 at the end of the earlier game, None if its end is not known."""
        last = self.history.last
        return None if last["status"].item(0) == RUNNING else tuple(last["hero"]["gold"][0].tolist())


def _number_of(history: GameHistory, path: Path, turn: int | None) -> int:
    """Return the number of the state of a turn. Raises `UsageError` if there is no such turn."""
    first, last = history.turn(0), history.turn(-1)
    known = f"the file has the turns {first} to {last}" if first < last else f"the file has only turn {first}"
    if turn is None:
        if first == last:
            return 0
        raise UsageError(f"{short(path)}: choose a turn of the game with --turn: {known}")
    number = history.at_turn(turn)
    found = history.turn(number)
    if found == turn:
        return number
    if not first <= turn <= last:
        raise UsageError(f"{short(path)}: there is no turn {turn}: {known}")
    raise UsageError(f"{short(path)}: turn {turn} is missing: the nearest turns are {history.turn(number - 1)} and {found}")
