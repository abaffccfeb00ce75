"""A room: one running game with its four seats and its clock. Knows nothing of HTTP.

The room hands the state out to the seat whose turn it is: it answers every open request of that seat, and starts the clock.
Only then it takes one move of that seat. A player that does not move within its limit crashes; its hero stays from then on.
At the end every open request gets the final state.

All methods must be called in one event loop; none of them blocks. Times are the loop's, in seconds.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sim.game import CRASH, DIRECTIONS, RUNNING, STAY, Games
from vindibot.games import GameHistory, Player, Reason, encode_json, from_games, reason_of
from vindibot.server.refusal import Refusal, closing_refusal, game_error
from vindibot.server.users import random_word

#: Tokens have 124 bits. They have only letters and digits, as clients expect.
TOKEN_LENGTH = 24
#: With the pace "original": seconds from handing out a state to the effect of its move, at least; seconds of a bot's move.
MIN_PLY_SECONDS = 0.060
BOT_SECONDS = 0.150
#: Seconds from a move without a turn to the seat's next state, at least: a second move that was sent at the same time arrives
#: before that state, and is refused.
SAME_INSTANT_SECONDS = 0.010
#: Open requests of one seat (repeats of a move on new connections); the oldest beyond them is refused.
MAX_WAITERS = 4
#: Rounds of the loop between a time limit and the crash, so that the server still reads a move that arrived in time: it takes
#: four or five rounds to accept a connection, read it and start its task.
GRACE_ROUNDS = 8
#: Seconds that the end of a game waits for its observers, at most, before the players get the final state.
MAX_END_SECONDS = 10.0


@dataclass(frozen=True)
class Snapshot:
    """The answer to a player: the game and its hero as JSON, and its time limit in milliseconds (0 once the game is over)."""

    game: bytes
    hero: bytes
    turn: int
    limit_ms: int


#: An open request: it gets a snapshot, or a refusal if the server cannot go on.
Waiter = asyncio.Future["Snapshot | Refusal"]


@dataclass(eq=False)
class RoomSeat:
    """One hero's seat. `bot`: a random bot of the server plays it. `moved_turn` is the turn of its last move (-1 for none),
    `not_before` the earliest time of its next state.

    `time_limit_ms` is this seat's own limit for a move, None for the room's; an observer may change it between moves.
    """

    index: int
    player: Player
    bot: bool = False
    token: str = ""
    waiters: list[Waiter] = field(default_factory=list)
    moved_turn: int = -1
    not_before: float = 0.0
    time_limit_ms: int | None = None
    withdrawn: bool = False

    def answer(self, outcome: Snapshot | Refusal) -> None:
        """Answer every open request."""
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(outcome)
        self.waiters.clear()


class RoomObserver(Protocol):
    """Is called when a room's game has begun, after each ply, and at the end. Its methods must return quickly and not raise.

    The room waits for the future that `ended` returns, `MAX_END_SECONDS` at most, before the players get the final state.
    """

    def began(self, room: Room) -> None: ...
    def played(self, room: Room, move: int) -> None: ...
    def ended(self, room: Room) -> asyncio.Future[Any] | None: ...


class Room:
    """One game, from the state `games` (a `sim.game.Game`) before its first ply. Call `begin` once.

    `history` is the game so far; the attribute `games` is its newest state. `time_limit_ms` is the time for a move.
    """

    def __init__(
        self,
        room_id: str,
        games: Games,
        seats: Sequence[RoomSeat],
        *,
        time_limit_ms: int,
        pace: str = "none",
        seed: int = 0,
        rated: bool = False,
        observers: Sequence[RoomObserver] = (),
    ) -> None:
        self.id = room_id
        self.pace, self.seed, self.rated = pace, seed, rated
        self.seats = tuple(seats)
        self.time_limit_ms = time_limit_ms
        self.history = GameHistory(room_id, [seat.player for seat in self.seats], first=games, limit_ms=time_limit_ms)
        self.games = games = self.history.last
        self.training = bool(games["training"].item(0))
        # Views into the record: reading it through an element of the array costs microseconds.
        self._turn, self._status, self._crashed = games["turn"], games["status"], games["hero"]["crashed"][0]
        self._paced = pace == "original"
        self._random = random.Random(seed)
        self._observers = tuple(observers)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.Handle | None = None
        self._handed_out: float | None = None  # when the mover got the state of this turn
        self._sent = False  # whether the answer with that state is written to its connection
        self._state: tuple[dict[str, Any], bytes] | None = None
        for seat in self.seats:
            seat.token = random_word(TOKEN_LENGTH)

    # ---- State ----

    @property
    def moves(self) -> list[int]:
        """The moves played so far: 0..4 or `sim.game.CRASH`."""
        return self.history.moves

    @property
    def turn(self) -> int:
        """Plies played."""
        return int(self._turn.item(0))

    @property
    def finished(self) -> bool:
        """Whether the game is over."""
        return bool(self._status.item(0) != RUNNING)

    @property
    def ending(self) -> Reason:
        """Why the game ended; `Reason.INTERRUPTED` for a game that still runs."""
        return reason_of(self._status.item(0))

    def crashed(self, seat: RoomSeat) -> bool:
        """Return whether this seat's hero has crashed."""
        return bool(self._crashed.item(seat.index))

    def has_user(self, user_id: str) -> bool:
        """Return whether this user plays here."""
        return any(seat.player.user_id == user_id for seat in self.seats)

    def find_seat(self, token: str) -> RoomSeat:
        """Return the seat with this token. Raises `Refusal`."""
        for seat in self.seats:
            if secrets.compare_digest(seat.token.encode(), token.encode("utf-8", "replace")) and not seat.bot:
                return seat
        raise game_error("Wrong or expired token", 404)

    def state(self) -> tuple[dict[str, Any], bytes]:
        """Return the present state as on the wire, and as JSON; made once per ply."""
        if self._state is None:
            wire = from_games(self.games, game_id=self.id, players=[other.player for other in self.seats])
            self._state = wire, encode_json(wire)
        return self._state

    def snapshot(self, seat: RoomSeat) -> Snapshot:
        """Return the present state for one seat."""
        wire, text = self.state()
        return Snapshot(text, encode_json(wire["heroes"][seat.index]), self.turn, self._left_ms())

    @property
    def _mover(self) -> RoomSeat:
        return self.seats[self.turn % 4]

    def _limit_ms(self, seat: RoomSeat) -> int:
        return self.time_limit_ms if seat.time_limit_ms is None else seat.time_limit_ms

    def _left_ms(self) -> int:
        if self.finished:
            return 0
        spent = 0.0 if self._handed_out is None else self._loop.time() - self._handed_out
        return max(0, self._limit_ms(self._mover) - int(spent * 1000))

    def _awaits(self, seat: RoomSeat) -> bool:
        """Return whether this seat has its state and has not moved."""
        return self._mover is seat and self._handed_out is not None and seat.moved_turn < self.turn

    # ---- Calls of the players ----

    def move(self, seat: RoomSeat, direction: int, turn: int | None = None, arrived: float | None = None) -> Waiter:
        """Take a move (0..4) of a seat; returns a future of its next state. Raises `Refusal`.

        `arrived` is when the first byte of the request arrived, by the loop's clock, None for now. A request that arrived
        before the state of this turn was sent is refused, since its move is for an earlier turn, unless `turn` says otherwise.
        `turn` is the turn of the move, if the client names it. A second move for the same turn is a repeat: it gets the answer
        of the first and is not played.
        """
        if self.crashed(seat) and (self.training or not self.finished):
            raise game_error("Time out! You must play faster")
        waiter: Waiter = self._loop.create_future()
        if turn is not None and turn % 4 == seat.index and 0 <= turn <= seat.moved_turn:
            if self.finished or self._awaits(seat):
                waiter.set_result(self.snapshot(seat))
            else:
                self._add(seat, waiter)
            return waiter
        self._check_turn(seat, turn, arrived)
        if turn is None:
            seat.not_before = self._loop.time() + SAME_INSTANT_SECONDS
        self._take(seat, direction)
        self._add(seat, waiter)
        return waiter

    def withdraw(self, seat: RoomSeat) -> None:
        """Make the hero of this seat crash: now if it is its turn, else on its next turn."""
        if seat.withdrawn or self.finished or self.crashed(seat):
            return
        seat.withdrawn = True
        if self._awaits(seat):
            self._play_then_advance(CRASH)

    def _check_turn(self, seat: RoomSeat, turn: int | None, arrived: float | None) -> None:
        if self.finished:
            raise game_error("The game is finished")
        if self._mover is seat and seat.moved_turn == self.turn:
            raise game_error("Not your turn to move")
        if self._mover is not seat or self._handed_out is None:
            raise game_error("Wait, you're not supposed to play now")
        if turn is not None and turn != self.turn:
            raise game_error("Not your turn to move")
        if turn is None and (not self._sent or (arrived is not None and arrived < self._handed_out)):
            raise game_error("Wait, you're not supposed to play now")

    def _add(self, seat: RoomSeat, waiter: Waiter) -> None:
        seat.waiters = [other for other in seat.waiters if not other.done()]
        seat.waiters.append(waiter)
        if len(seat.waiters) > MAX_WAITERS:
            seat.waiters.pop(0).set_result(game_error("Not your turn to move"))

    def _take(self, seat: RoomSeat, direction: int) -> None:
        assert self._handed_out is not None
        seat.moved_turn = self.turn
        early = self._handed_out + MIN_PLY_SECONDS - self._loop.time() if self._paced else 0.0
        if early > 0:
            self._after(early, self._play_then_advance, direction)
        else:
            self._play_then_advance(direction)

    def sent(self, seat: RoomSeat, snapshot: Snapshot) -> None:
        """Start the clock again, once per turn: the answer with this snapshot is written to its connection."""
        if self._sent or self._handed_out is None or snapshot.turn != self.turn or self._mover is not seat:
            return
        self._sent = True
        if seat.moved_turn < self.turn and not self.finished:
            self._start_clock()

    # ---- Course of the game ----

    def begin(self) -> None:
        """Start the game: hand the first state out to hero 1."""
        for observer in self._observers:
            observer.began(self)
        self._advance()

    def close(self) -> None:
        """Stop at once, without a result; open requests are refused."""
        self._cancel_timer()
        for seat in self.seats:
            seat.answer(self.snapshot(seat) if self.finished else closing_refusal())

    def _advance(self) -> None:
        """Hand the state out to the next hero that has not crashed, or end the game."""
        while not self.finished:
            seat = self._mover
            if not self.crashed(seat):
                early = seat.not_before - self._loop.time()
                if early > 0:
                    self._after(early, self._hand_out, seat)
                else:
                    self._hand_out(seat)
                return
            self._play(STAY)
        self._cancel_timer()
        stored = [future for observer in self._observers if (future := observer.ended(self)) is not None]
        if stored:
            # The players learn that a game is over only when it is stored; but no player waits for a stuck disk.
            self._after(MAX_END_SECONDS, self._answer_all)
            asyncio.gather(*stored, return_exceptions=True).add_done_callback(lambda _: self._answer_all())
        else:
            self._answer_all()

    def _answer_all(self) -> None:
        self._cancel_timer()
        for seat in self.seats:
            seat.answer(self.snapshot(seat))

    def _hand_out(self, seat: RoomSeat) -> None:
        if seat.withdrawn:
            self._after(0.0, self._play_then_advance, CRASH)
        elif seat.bot:
            move = self._random.randrange(1, len(DIRECTIONS))
            self._after(BOT_SECONDS if self._paced else 0.0, self._play_then_advance, move)
        else:
            self.state()  # made before the clock starts
            self._start_clock()
            self._sent = all(waiter.done() for waiter in seat.waiters)  # without open requests there is nothing to send
            seat.answer(self.snapshot(seat))

    def _start_clock(self) -> None:
        self._handed_out = self._loop.time()
        self._after(self._limit_ms(self._mover) / 1000, self._time_out, GRACE_ROUNDS)

    def _time_out(self, rounds: int) -> None:
        if rounds:
            self._after(0.0, self._time_out, rounds - 1)
        else:
            self._play_then_advance(CRASH)

    def _play_then_advance(self, move: int) -> None:
        # The next state is handed out a round of the loop later. If two moves were sent at once, the second is already in the
        # loop's queue, and is refused as out of turn.
        self._play(move)
        self._after(0.0, self._advance)

    def _play(self, move: int) -> None:
        self._cancel_timer()
        self._handed_out, self._state = None, None
        self.history.play(move)
        for observer in self._observers:
            observer.played(self, move)

    def _after(self, seconds: float, callback: Callable[..., None], *arguments: Any) -> None:
        self._cancel_timer()
        if seconds > 0:
            self._timer = self._loop.call_later(seconds, callback, *arguments)
        else:
            self._timer = self._loop.call_soon(callback, *arguments)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
