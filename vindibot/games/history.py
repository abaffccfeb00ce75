"""The history of one game: its states, moves and events, and the votes of our bot if they are known.

A `GameHistory` can come from a recording, a game record, or a game that is being played. It can also come from states that a
player or a spectator sees one after another.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sim.board import draw
from sim.events import EVENT, Events
from sim.game import CRASH, NO_DIRECTION, PLIES_PER_ROUND, RUNNING, STAY, Games, copy_of, equal
from sim.pictures.svg import draw_svg
from sim.replay import events_of, moves_of, play_moves
from sim.rules import step
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.pages import render
from vindibot.base.text import printable
from vindibot.games.ballot import Ballot
from vindibot.games.files.game_files import kind_of, read_game_file, read_states
from vindibot.games.files.recording import Recording
from vindibot.games.files.review import Review, hero_picture, read_review
from vindibot.games.game_record import GameRecord, GameRecordError
from vindibot.games.notes import GameNote, game_notes
from vindibot.games.outcome import Reason, reason_of, status_of
from vindibot.games.position import Position, fault_of_state, first_state_before, moves_between
from vindibot.games.protocol import UNKNOWN_PLAYERS, GameState, Player, ProtocolError, to_games

#: The byte that stands for a gap among the moves: `sim.game.NO_DIRECTION`.
_GAP = NO_DIRECTION & 0xFF
#: Largest number of points of a curve.
_MOST_POINTS = 400


@dataclass(frozen=True, eq=False)
class Ply:
    """One ply, which leads from the state `before` to the state `after`. Copy a state before you change it.

    Ply `number` (from 0) leads from state `number` to state ``number + 1``. Hero `mover` (0..3) made `move` (0..4 or
    `sim.game.CRASH`). If `mover` and `move` are None, this object is a gap: any number of unknown plies led to `after`.
    """

    number: int
    before: Games = field(repr=False)
    after: Games = field(repr=False)
    mover: int | None = None
    move: int | None = None

    @property
    def gap(self) -> bool:
        """Whether the moves that led to `after` are unknown."""
        return self.move is None

    @property
    def turn(self) -> int:
        """The protocol's turn after this ply: the number of plies played so far."""
        return int(self.after["turn"].item(0))

    @cached_property
    def events(self) -> Events:
        """The events of this ply, in the order of the rules (`sim.events`). A gap has no events."""
        return np.zeros(0, EVENT) if self.move is None else events_of(self.before, [self.move])[0]


class GameHistory:
    """One game over time.

    ``len(history)`` is the number of plies, and iteration yields every `Ply`. State k is the state before ply k, so there is one
    more state than there are plies.

    - `id`: the game's id.
    - `players`: the players of heroes 1..4.
    - `me`: our hero (0..3), None if no hero is ours.
    - `ballots`: our ballots (the results of our votes), by the number of the state in which we voted.
    - `notes`: what a hero (0..3) said in a state, by the number of the state and the hero.
    - `started`: the time when the game began, None if unknown.
    - `limit_ms`: the time limit for a move in milliseconds, None if unknown.
    - `complete`: whether the history is finished (see `end`), so that no more plies follow.
    - `ending`, `message`: for a complete history, the reason why the game ended (None if unknown), and a sentence about this
      reason.
    - `review`: the review of the game, None if there is none.
    - `begins_late`: whether the first plies of the game are missing.

    Only the moves (a byte per ply) and the states that do not follow from moves are stored: the first state, and the states after
    gaps. Other states are computed when they are read, which takes at most 0.1 ms. A whole game takes 10 kB of memory. A game
    with all states stored would take 1.3 MB.
    """

    def __init__(
        self,
        id: str = "",  # noqa: A002 - as in a game record
        players: Sequence[Player] = UNKNOWN_PLAYERS,
        me: int | None = None,
        *,
        first: Games | None = None,
        started: datetime | str | None = None,
        limit_ms: float | None = None,
    ) -> None:
        """Make a history without plies. `first` is the state before the first ply, None if it is not known yet. The history keeps
        a copy of `first`."""
        self.id, self.players, self.me = id, tuple(players), me
        self.started, self.limit_ms = started, limit_ms
        self.ballots: dict[int, Ballot] = {}
        self.notes: dict[tuple[int, int], list[GameNote]] = {}
        self.complete, self.message = False, ""
        self.ending: Reason | None = None
        self.review: Review | None = None
        self.begins_late = False
        self._moves = bytearray()
        self._turns = array("i")  # of every state
        self._stored: dict[int, Games] = {}  # the states that do not follow from moves, by number, ascending
        self._last: Games | None = None
        self._computed: tuple[int, Games] | None = None  # number and state of the last computation
        if first is not None:
            self._begin(copy_of(first))

    # ---- Sources ----

    @classmethod
    def read(cls, path: Path | str, game: str | None = None) -> GameHistory:
        """Return the history of a game in a file: a recording, the record that `game` chooses (see `read_game_file`), or saved
        states of a game (see `read_states`).

        Raises `VindibotError` for a file that cannot be read, and if `game` does not choose exactly one game.
        """
        if kind_of(Path(path)) == "states":
            saved = read_states(Path(path), game)
            history = cls(saved.states[0].id, me=saved.me)
            for state in saved.states:
                try:
                    history.append(state)
                except ProtocolError as problem:
                    raise UsageError(f"{path}, turn {state.turn}: {problem.message}") from None
            history.end(message="the saved states end here")
            return history
        source = read_game_file(Path(path), game)
        history = cls.of(source)
        if isinstance(source, GameRecord):
            history.review = read_review(path, source.id)
        return history

    @classmethod
    def of(cls, game: Recording | GameRecord) -> GameHistory:
        """Return the history of a recording or a game record. For a recording, the plies between two recorded turns are derived
        from their states.

        Raises `GameRecordError` for a record with moves after the end of the game, or with an ending that differs from the game.
        """
        if isinstance(game, GameRecord):
            history = cls.before_first_ply(game)
            history.play_all(game.moves)
            history.check_matches(game)
            history.add_notes(game.notes)
            history.end(game.ending)
            return history
        header, outcome = game.header, game.outcome
        history = cls(header.game, game.players, game.me, started=header.started, limit_ms=header.limit_ms)
        history.review = game.review
        for own in game.turns:
            history.append(own.games, own.ballot)
        if game.last is not None:
            history.append(game.last.games)
        if outcome is not None:
            history.end(outcome.reason, outcome.message)
        else:
            history.end(message="the recording ends here")
        return history

    @classmethod
    def before_first_ply(cls, record: GameRecord) -> GameHistory:
        """Return a history with only the first state of a game record. Raises `GameRecordError` for an impossible state."""
        players = [Player(*known) for known in zip(record.names, record.player_ids, record.ratings, strict=True)]
        return cls(record.id, players, first=record.first(), started=record.started, limit_ms=record.limit_ms)

    def check_matches(self, record: GameRecord) -> None:
        """Raise `GameRecordError` unless this history has all moves of `record`, and its game ended as the record says."""
        played, status = len(self), self.last["status"].item(0)
        if played < len(record.moves):
            raise GameRecordError(f"game {record.id}, ply {played}: a move after the end of the game")
        if status != status_of(record.ending):
            is_so = "is still running" if status == RUNNING else f"has ended: {reason_of(status)}"
            raise GameRecordError(
                f"game {record.id}, after {played} plies: the record says {record.ending}, but the game {is_so}"
            )

    # ---- Adding plies ----

    def play(self, move: int) -> bool:
        """Play the move of one ply (0..4 or `CRASH`, other numbers count as Stay). Return whether the ply was played.

        If the game is over, nothing changes and the result is False.
        """
        move = move if STAY <= move <= CRASH else STAY
        if not step(self.last, 0, move):
            return False
        self._moves.append(move)
        self._turns.append(self.last["turn"].item(0))
        return True

    def play_all(self, moves: Sequence[int]) -> int:
        """Play the moves of several plies, and return the number of plies played.

        The method stops at the end of the game, or before the first number that is not a move (0..4 or `CRASH`).
        """
        before = self.last["turn"].item(0)
        played = play_moves(self.last, 0, moves_of(moves))
        self._moves += bytes(moves[:played])
        after = self.last["turn"].item(0)
        # A crash that ends the game does not count as a turn.
        self._turns.frombytes(np.minimum(np.arange(before + 1, before + 1 + played, dtype=np.int32), after).tobytes())
        return played

    def append(self, state: GameState | Games, ballot: Ballot | None = None) -> None:
        """Add a state that a player or a spectator has seen, and the plies that led to it. `ballot` is our ballot in this state.

        If no moves of at most four plies lead from the last state to `state`, a gap is added. If `state` is the first one, the
        state before the first ply is added too, if it can be derived. Raises `ProtocolError` for an impossible state.
        """
        if isinstance(state, GameState):
            self.players = state.players
            state = to_games(state)
        if self._last is None:
            start = first_state_before(state)
            self._begin(copy_of(state if start is None else start))
            self.begins_late = start is None
        between = moves_between(self.last, state)
        if between is None:
            self._moves.append(_GAP)
            self._stored[len(self)] = copy_of(state)
            self._turns.append(state["turn"].item(0))
            self._last = copy_of(state)
        else:
            moves, reached = between
            self.play_all(moves)
            if not equal(self.last, reached):  # a seen state may have flags that do not follow from moves
                self._stored[len(self)] = copy_of(reached)
                self._turns[-1] = reached["turn"].item(0)
                self._last = reached
        if ballot is not None:
            self.ballots[len(self)] = ballot
            if self.me is not None:
                for entry in ballot.entries:
                    self.add_notes(game_notes(self.turn(len(self)), self.me + 1, entry.label, entry.notes))

    def add_notes(self, notes: Iterable[GameNote]) -> None:
        """Add what heroes said. The states in which they said it must be known."""
        for note in notes:
            self.notes.setdefault((self.at_turn(note.turn), note.hero - 1), []).append(note)

    def end(self, ending: Reason | None = None, message: str = "") -> None:
        """Mark the history as complete. `ending` is the reason why the game ended (None: unknown). `message` explains the
        reason."""
        self.complete, self.ending, self.message = True, ending, message

    def _begin(self, first: Games) -> None:
        self._stored[0] = first
        self._last = copy_of(first)
        self._turns.append(first["turn"].item(0))

    # ---- Contents ----

    def __len__(self) -> int:
        return len(self._moves)

    def __bool__(self) -> bool:
        """Whether any state is known."""
        return self._last is not None

    def __getitem__(self, number: int) -> Ply:
        """Return ply `number`. Negative numbers count from the end. Raises IndexError."""
        return next(self.plies(range(len(self))[number]))

    def __iter__(self) -> Iterator[Ply]:
        return self.plies()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of heroes 1..4, empty if unknown."""
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
        """The first state. Do not change it. Raises IndexError if no state is known."""
        if 0 not in self._stored:
            raise IndexError("no state of this game is known")
        return self._stored[0]

    @property
    def last(self) -> Games:
        """The newest state. Do not change it. Methods such as `play` change this array in place. Raises IndexError if no state is
        known."""
        if self._last is None:
            raise IndexError("no state of this game is known")
        return self._last

    def turn(self, number: int) -> int:
        """Return the protocol's turn of state `number`, which is the number of plies played before this state."""
        return self._turns[number]

    def at_turn(self, turn: int) -> int:
        """Return the number of the first state at or after the protocol's `turn`. If there is no such state, return the number of
        the last state."""
        return min(bisect_left(self._turns, turn), len(self))

    def state(self, number: int) -> Games:
        """Return a copy of state `number`. Negative numbers count from the end. Raises IndexError."""
        number = range(len(self._turns))[number]
        if number == len(self):
            return copy_of(self.last)
        stored = list(self._stored)
        start = stored[bisect_right(stored, number) - 1]
        games = self._stored[start]
        if self._computed is not None and start < self._computed[0] <= number:
            start, games = self._computed
        games = copy_of(games)
        if start < number:
            play_moves(games, 0, np.frombuffer(self._moves[start:number], np.int8))
            self._computed = number, games
            games = copy_of(games)
        return games

    def states(self, start: int = 0, every: int = 1) -> Iterator[Games]:
        """Yield copies of the states ``start``, ``start + every``, ``start + 2 * every`` and so on."""
        return map(self.state, range(start, len(self._turns), every))

    def plies(self, start: int = 0) -> Iterator[Ply]:
        """Yield the plies from number `start` on, including plies that are added during the iteration."""
        if start >= len(self):
            return
        before, number = self.state(start), start
        while number < len(self):
            move = self._moves[number]
            if number + 1 in self._stored:
                after = copy_of(self._stored[number + 1])
            else:
                after = copy_of(before)
                step(after, 0, move)
            mover = before["turn"].item(0) % PLIES_PER_ROUND
            yield Ply(number, before, after) if move == _GAP else Ply(number, before, after, mover, move)
            before, number = after, number + 1

    def events(self) -> tuple[Events, NDArray[np.int64]]:
        """Return the events of all plies in order, and for each ply the total number of events up to the end of this ply.

        A gap has no events. This method is much faster than reading `Ply.events` for each ply.
        """
        parts, ends = [np.zeros(0, EVENT)], [np.zeros(0, np.int64)]
        total = 0
        starts = list(self._stored)
        for start, stop in zip(starts, [*starts[1:], len(self)], strict=True):
            moves = self._moves[start:stop]
            events, counts = events_of(self._stored[start], moves.removesuffix(bytes([_GAP])))
            parts.append(events)
            ends.append(counts + total)
            total += len(events)
            if moves.endswith(bytes([_GAP])):
                ends.append(np.array([total]))
        return np.concatenate(parts), np.concatenate(ends)

    def position(self, number: int) -> Position:
        """Return state `number` with the plies before it, as far as they are known without a gap.

        Without plies if these do not lead to the state exactly, because a player saw flags that do not follow from moves. Raises
        `VindibotError` for a state that contradicts itself, which only another server sends.
        """
        games = self.state(number)
        if (fault := fault_of_state(games)) is not None:
            raise VindibotError(f"game {printable(self.id)}, turn {self.turn(number)}: {fault}")
        start = max((ply + 1 for ply in self.gaps if ply < number), default=0)
        first = self.state(start)
        if fault_of_state(first) is None:
            position = Position(draw(first), tuple(self.moves[start:number]))
            if equal(position.last(), games):
                return position
        return Position(draw(games))

    def ranking(self) -> str:
        """Return the heroes with their gold in the newest state as text, the hero with the most gold first."""
        if self._last is None:
            return "no state was received"
        heroes = zip(self._last["hero"]["gold"][0].tolist(), range(1, 5), self.names, strict=True)
        return ", ".join(f"@{hero} {printable(name)} {gold}" for gold, hero, name in sorted(heroes, key=lambda row: -row[0]))

    def __repr__(self) -> str:
        if self._last is None:
            return f"<GameHistory {printable(self.id)}: no states>"
        gaps = f", {len(self.gaps)} of them lost" if self.gaps else ""
        ended = f"; ended: {self.ending or 'unknown'}" if self.complete else ""
        turns = f"turns {self.turn(0)} to {self.turn(-1)}, {len(self)} plies{gaps}"
        return f"<GameHistory {printable(self.id)}: {turns}; {self.ranking()}{ended}>"

    def __str__(self) -> str:
        """Return a drawing of the newest board (`sim.board.draw`)."""
        return repr(self) if self._last is None else draw(self._last)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the newest board, the gold of the four heroes over time, and the review."""
        if self._last is None:
            return escape(repr(self))
        board = draw_svg(self._last, names=[printable(name) for name in self.names], me=self.me)
        review = "" if self.review is None else self.review._repr_html_()
        return str(render("games/history.html", summary=repr(self), board=board, curves=gold_picture(self), review=review))


def gold_picture(history: GameHistory) -> str:
    """Return the chart of the gold of the four heroes. The history must have at least one state."""
    every = -(-(len(history) + 1) // _MOST_POINTS)
    shown = sorted({*range(0, len(history) + 1, every), len(history)})
    rows = [history.state(number)["hero"]["gold"][0].tolist() for number in shown]
    return hero_picture("gold", [history.turn(number) for number in shown], rows)
