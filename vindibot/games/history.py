"""The history of one game: its states, moves and events, and our votes where they are known.

There is one class for a game over time, wherever it comes from: a recording, a game record, a game that is being played, or
states that a player or a spectator sees one at a time.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sim.board import draw
from sim.events import EVENT, Events
from sim.game import CRASH, NO_DIRECTION, PLIES_PER_ROUND, RUNNING, STAY, Games, copy_of, equal
from sim.replay import events_of, moves_of, play_moves
from sim.rules import step
from vindibot.base import printable
from vindibot.games.ballot import Ballot
from vindibot.games.between import moves_between, opening
from vindibot.games.game_file import read_game_file
from vindibot.games.game_record import GameRecord, GameRecordError
from vindibot.games.outcome import Reason, reason_of, status_of
from vindibot.games.protocol import GameState, Player, to_games
from vindibot.games.recording import Recording

#: The byte that stands among the moves for the lost plies of a gap: `sim.game.NO_DIRECTION`.
_GAP = NO_DIRECTION & 0xFF
_NOBODY = (Player(""), Player(""), Player(""), Player(""))


@dataclass(frozen=True, eq=False)
class Ply:
    """One ply, from the state `before` to the state `after` (`sim.game.Game`; copy them before you change them).

    `number` counts from 0: the ply leads from state `number` to state ``number + 1``. `mover` (0..3) made `move` (0..4 or
    `sim.game.CRASH`). Both are None for a gap: it is not known what led to `after`, and it may have been many plies.
    """

    number: int
    before: Games = field(repr=False)
    after: Games = field(repr=False)
    mover: int | None = None
    move: int | None = None

    @property
    def gap(self) -> bool:
        """Whether it is not known what happened."""
        return self.move is None

    @property
    def turn(self) -> int:
        """The wire's turn after this ply: the number of plies played so far."""
        return int(self.after["turn"].item(0))

    @cached_property
    def events(self) -> Events:
        """What happened, in the order of the rules (`sim.events`); nothing for a gap."""
        return np.zeros(0, EVENT) if self.move is None else events_of(self.before, [self.move])[0]


class GameHistory:
    """One game over time. ``len(history)`` is the number of plies; state k is the one before ply k, so there is one state more
    than there are plies, and iteration gives every `Ply`.

    `id` is the game's id, `players` are of heroes 1..4, `me` is our hero 0..3 (None if none is ours). `ballots` are our votes,
    by the number of the state that we voted in. `started` and `limit_ms` (milliseconds for a move) are None where they are not
    known. `complete` says that no more will come; `ending` then tells why the game ended (None where it is not known),
    and `message` is a sentence about it.

    A history holds the moves, a byte per ply, and only those states that moves do not lead to: the first, and the ones after
    gaps. All other states are computed again when they are asked for, which takes 0.1 ms at most. A whole game with all its
    states would be 1.3 MB, and this is 10 kB.
    """

    def __init__(
        self,
        id: str = "",  # noqa: A002 - as in a game record
        players: Sequence[Player] = _NOBODY,
        me: int | None = None,
        *,
        first: Games | None = None,
        started: datetime | str | None = None,
        limit_ms: float | None = None,
    ) -> None:
        """A history without plies. `first` is the state before the first ply (a `sim.game.Game`, which is copied)."""
        self.id, self.players, self.me = id, tuple(players), me
        self.started, self.limit_ms = started, limit_ms
        self.ballots: dict[int, Ballot] = {}
        self.complete, self.message = False, ""
        self.ending: Reason | None = None
        #: Whether the first state is not the one before the first ply of the game.
        self.begins_late = False
        self._moves = bytearray()
        self._turns = array("i")  # of every state
        self._whole: dict[int, Games] = {}  # the states that are kept, by their numbers, in order
        self._last: Games | None = None
        self._near: tuple[int, Games] | None = None  # the state computed last: the next one is near it
        if first is not None:
            self._begin(copy_of(first))

    # ---- Where it comes from ----

    @classmethod
    def read(cls, path: Path | str, game: str | None = None) -> GameHistory:
        """The game in a file: a recording, or the record that `game` chooses (see `read_game_file`). Raises `VindibotError`."""
        return cls.of(read_game_file(Path(path), game))

    @classmethod
    def of(cls, game: Recording | GameRecord) -> GameHistory:
        """The whole game in a recording or a game record. Raises `GameRecordError` for a record that does not work out."""
        return cls.of_recording(game) if isinstance(game, Recording) else cls.of_record(game)

    @classmethod
    def of_recording(cls, recording: Recording) -> GameHistory:
        """The game as far as its recording tells it: the plies between our turns are found from the states."""
        header, outcome, last = recording.header, recording.outcome, recording.last
        history = cls(header.game, (), recording.me, started=header.started, limit_ms=header.limit_ms)
        for own in recording.turns:
            history.append(own.games, own.ballot)
        if last is not None:
            history.append(last.games)
        state = recording.turns[0].state if recording.turns else last.state if last is not None else None
        history.players = _NOBODY if state is None else players_in(state)
        if outcome is not None:
            history.end(outcome.reason, outcome.message)
        else:
            history.end(message="the recording ends here")
        return history

    @classmethod
    def of_record(cls, record: GameRecord) -> GameHistory:
        """The game of a record. Raises `GameRecordError` where a move comes after the end, or where the game does not end as
        the record says."""
        history = cls.begun(record)
        history.play_all(record.moves)
        history.check(record)
        history.end(record.ending)
        return history

    @classmethod
    def begun(cls, record: GameRecord) -> GameHistory:
        """The game of a record before its first ply. Raises `GameRecordError`."""
        ratings: list[int | None] = record.extra.get("elo") or [None] * 4
        players = [Player(*known) for known in zip(record.names, record.who, ratings, strict=True)]
        limit_ms = record.extra.get("time_limit_ms")
        return cls(record.id, players, first=record.first(), started=record.started, limit_ms=limit_ms)

    def check(self, record: GameRecord) -> None:
        """Raise `GameRecordError` unless this is the whole game of the record."""
        played, status = len(self), self.last["status"].item(0)
        if played < len(record.moves):
            raise GameRecordError(f"game {record.id}, ply {played}: a move after the end of the game")
        if status != status_of(record.ending):
            is_so = "is still running" if status == RUNNING else f"has ended: {reason_of(status)}"
            raise GameRecordError(
                f"game {record.id}, after {played} plies: the record says {record.ending}, but the game {is_so}"
            )

    # ---- How it grows ----

    def play(self, move: int) -> bool:
        """Play one ply (0..4 or `CRASH`; any other number is Stay). False if the game is over; then nothing changes."""
        move = move if STAY <= move <= CRASH else STAY
        if not step(self.last, 0, move):
            return False
        self._moves.append(move)
        self._turns.append(self.last["turn"].item(0))
        return True

    def play_all(self, moves: Sequence[int]) -> int:
        """Play plies until the game is over, or until a number is no move (0..4 or `CRASH`); returns how many were played."""
        before = self.last["turn"].item(0)
        played = play_moves(self.last, 0, moves_of(moves))
        self._moves += bytes(moves[:played])
        after = self.last["turn"].item(0)
        # A crash that ends the game does not count.
        self._turns.frombytes(np.minimum(np.arange(before + 1, before + 1 + played, dtype=np.int32), after).tobytes())
        return played

    def append(self, state: GameState | Games, ballot: Ballot | None = None) -> None:
        """Add a state that was seen (as on the wire, or as a `sim.game.Game`), and the plies that led to it; `ballot` is
        our vote in it.

        A state that does not follow from the last one within a round is added as a gap. Before the first state that is seen
        comes the one before the first ply, if it can be told. Raises `ProtocolError` for a state that cannot be.
        """
        if isinstance(state, GameState):
            self.players = players_in(state)
            state = to_games(state)
        if self._last is None:
            start = opening(state)
            self._begin(copy_of(state if start is None else start))
            self.begins_late = start is None
        found = moves_between(self.last, state)
        if found is None:
            self._moves.append(_GAP)
            self._whole[len(self)] = copy_of(state)
            self._turns.append(state["turn"].item(0))
            self._last = copy_of(state)
        else:
            moves, reached = found
            self.play_all(moves)
            if not equal(self.last, reached):  # moves do not tell what kind of game it is: a state seen later may
                self._whole[len(self)] = copy_of(reached)
                self._turns[-1] = reached["turn"].item(0)
                self._last = reached
        if ballot is not None:
            self.ballots[len(self)] = ballot

    def end(self, ending: Reason | None = None, message: str = "") -> None:
        """No more will come. `ending` tells how it ended, if that is known."""
        self.complete, self.ending, self.message = True, ending, message

    def _begin(self, first: Games) -> None:
        self._whole[0] = first
        self._last = copy_of(first)
        self._turns.append(first["turn"].item(0))

    # ---- What one can see ----

    def __len__(self) -> int:
        return len(self._moves)

    def __bool__(self) -> bool:
        """Whether any state is known."""
        return self._last is not None

    def __getitem__(self, number: int) -> Ply:
        """Ply `number`; negative numbers count from the end. Raises IndexError."""
        return next(self.plies(range(len(self))[number]))

    def __iter__(self) -> Iterator[Ply]:
        return self.plies()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of heroes 1..4; empty where they are not known."""
        return tuple(player.name for player in self.players)

    @property
    def moves(self) -> list[int]:
        """The moves of all plies: 0..4, `sim.game.CRASH`, or `sim.game.NO_DIRECTION` for a gap."""
        return list(array("b", self._moves))

    @property
    def gaps(self) -> list[int]:
        """The numbers of the plies that are gaps."""
        return [number for number, move in enumerate(self._moves) if move == _GAP]

    @property
    def first(self) -> Games:
        """The first state. It belongs to the history: do not write to it. Raises IndexError where no state is known."""
        if 0 not in self._whole:
            raise IndexError("no state of this game is known")
        return self._whole[0]

    @property
    def last(self) -> Games:
        """The newest state. It belongs to the history, and `play` changes it. Raises IndexError where no state is known."""
        if self._last is None:
            raise IndexError("no state of this game is known")
        return self._last

    def turn(self, number: int) -> int:
        """The wire's turn of state `number`: the number of plies played before it."""
        return self._turns[number]

    def at_turn(self, turn: int) -> int:
        """The number of the first state that is not before the wire's `turn`; the last one if all are."""
        return min(bisect_left(self._turns, turn), len(self))

    def state(self, number: int) -> Games:
        """State `number` as a new `sim.game.Game`; negative numbers count from the end. Raises IndexError."""
        number = range(len(self._turns))[number]
        if number == len(self):
            return copy_of(self.last)
        whole = list(self._whole)
        nearest = whole[bisect_right(whole, number) - 1]
        start, games = nearest, self._whole[nearest]
        if self._near is not None and nearest < self._near[0] <= number:
            start, games = self._near
        games = copy_of(games)
        if start < number:
            play_moves(games, 0, np.frombuffer(self._moves[start:number], np.int8))
            self._near = number, games
            games = copy_of(games)
        return games

    def states(self, start: int = 0, every: int = 1) -> Iterator[Games]:
        """State number `start`, and each `every`-th one after it, each a new `sim.game.Game`."""
        for number in range(start, len(self._turns), every):
            yield self.state(number)

    def plies(self, start: int = 0) -> Iterator[Ply]:
        """The plies from number `start` on. Plies that are added meanwhile come as well."""
        if start >= len(self):
            return
        before, number = self.state(start), start
        while number < len(self):
            move = self._moves[number]
            if number + 1 in self._whole:
                after = copy_of(self._whole[number + 1])
            else:
                after = copy_of(before)
                step(after, 0, move)
            known = None if move == _GAP else before["turn"].item(0) % PLIES_PER_ROUND
            yield Ply(number, before, after, known, None if move == _GAP else move)
            before, number = after, number + 1

    def events(self) -> tuple[Events, NDArray[np.int64]]:
        """The events of all plies, one after the other, and for each ply the number of events up to its end. Much faster than
        asking each ply. There are none for a gap."""
        parts, ends = [np.zeros(0, EVENT)], [np.zeros(0, np.int64)]
        total = 0
        starts = list(self._whole)
        for start, stop in zip(starts, [*starts[1:], len(self)], strict=True):
            moves = self._moves[start:stop]
            found, counts = events_of(self._whole[start], moves.removesuffix(bytes([_GAP])))
            parts.append(found)
            ends.append(counts + total)
            total += len(found)
            if moves.endswith(bytes([_GAP])):
                ends.append(np.array([total]))
        return np.concatenate(parts), np.concatenate(ends)

    def standing(self) -> str:
        """The heroes with their gold in the newest state, best first."""
        if self._last is None:
            return "nothing was seen of it"
        gold = self._last["hero"]["gold"][0].tolist()
        order = sorted(range(4), key=lambda hero: -gold[hero])
        return ", ".join(f"@{hero + 1} {printable(self.names[hero])} {gold[hero]}" for hero in order)

    def __repr__(self) -> str:
        if self._last is None:
            return f"<GameHistory {printable(self.id)}: no states>"
        gaps = f", {len(self.gaps)} of them lost" if self.gaps else ""
        ended = f"; ended: {self.ending or 'unknown'}" if self.complete else ""
        turns = f"turns {self.turn(0)} to {self.turn(-1)}, {len(self)} plies{gaps}"
        return f"<GameHistory {printable(self.id)}: {turns}; {self.standing()}{ended}>"

    def __str__(self) -> str:
        """The newest board (`sim.board.draw`)."""
        return repr(self) if self._last is None else draw(self._last)


def players_in(state: GameState) -> tuple[Player, ...]:
    """The players of heroes 1..4 in a state of the wire."""
    return tuple(Player(hero.name, hero.user_id, hero.elo) for hero in state.heroes)
