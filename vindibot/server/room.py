"""A room: one running game with its four seats and its clock. Knows nothing of HTTP.

Whose turn it is gets the state *handed out*: every open request of that seat is answered with it, and the clock starts.
An order is taken only then, once. A silent player crashes at his limit and is from then on moved by Stay, at once. At the
end everybody with an open request gets the final state.

All methods must be called in one event loop; none of them blocks. Time is the loop's, which is monotonic.
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
from vindibot.server.refusal import Refusal, game_error
from vindibot.server.users import random_word

#: Tokens are 124 bits long, too long to be guessed. They have only letters and digits, as clients expect.
TOKEN_LENGTH = 24
#: Under the original's pace: how long after a state was handed out the order takes effect at the earliest, and a bot's time.
MIN_PLY_SECONDS = 0.060
BOT_SECONDS = 0.150
#: How long after an order without a turn its seat gets its next state at the earliest: a second order that was sent in the same
#: instant arrives before it, and is refused.
SAME_INSTANT_SECONDS = 0.010
#: Open requests of one seat (repeats of an order on new connections); the oldest beyond them is sent away.
MAX_WAITERS = 4
#: How often the loop goes round between a limit and the crash, so that an order that had arrived in time is still read:
#: accepting a connection, reading it and starting its task takes four or five rounds.
GRACE_ROUNDS = 8
#: How long the end of a game may wait for an observer before the players are told.
KEEPING_SECONDS = 10.0


@dataclass(frozen=True)
class Snapshot:
    """What a player is answered: the game and his hero as JSON, and how long he has (0 once the game is over)."""

    game: bytes
    hero: bytes
    turn: int
    limit_ms: int


#: An open request: it gets a snapshot, or a refusal if the server cannot go on.
Waiter = asyncio.Future["Snapshot | Refusal"]


@dataclass(eq=False)
class RoomSeat:
    """One hero's place. `bot` is a random bot of the server's; `ordered` the last turn for which an order was taken, `not_before`
    the time of the loop from which on it may get its next state.

    `time_limit_ms` is this seat's own limit for a move, None for the room's; an observer may change it between moves.
    """

    index: int
    player: Player
    bot: bool = False
    token: str = ""
    waiters: list[Waiter] = field(default_factory=list)
    ordered: int = -1
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
    """Who wants to know what happens in a room (records, streams, ratings). Must return quickly and not raise.

    What `ended` returns, if anything, is waited for (not for long) before the players are told that the game is over.
    """

    def began(self, room: Room) -> None: ...
    def played(self, room: Room, move: int) -> None: ...
    def ended(self, room: Room) -> asyncio.Future[Any] | None: ...


class Room:
    """One game, from the state `games` (a `sim.game.Game`) before its first ply. Call `begin` once.

    `history` is the game so far, and the attribute `games` is its newest state."""

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
        self._handed: float | None = None  # when the state of this turn was handed to the mover
        self._sent = False  # whether that answer has been written to its connection
        self._state: tuple[dict[str, Any], bytes] | None = None
        for seat in self.seats:
            seat.token = random_word(TOKEN_LENGTH)

    # ---- What one can see ----

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
        """Why the game ended; a game that still runs is interrupted."""
        return reason_of(self._status.item(0))

    def crashed(self, seat: RoomSeat) -> bool:
        """Whether this seat's hero has crashed."""
        return bool(self._crashed.item(seat.index))

    def seat_of(self, token: str) -> RoomSeat:
        """The seat with this token. Raises `Refusal`."""
        for seat in self.seats:
            if secrets.compare_digest(seat.token.encode(), token.encode("utf-8", "replace")) and not seat.bot:
                return seat
        raise game_error("Wrong or expired token", 404)

    def state(self) -> tuple[dict[str, Any], bytes]:
        """The present state as on the wire, and as JSON; made once a ply."""
        if self._state is None:
            wire = from_games(self.games, game_id=self.id, players=[other.player for other in self.seats])
            self._state = wire, encode_json(wire)
        return self._state

    def snapshot(self, seat: RoomSeat) -> Snapshot:
        """The present state for one seat."""
        wire, text = self.state()
        return Snapshot(text, encode_json(wire["heroes"][seat.index]), self.turn, self._left_ms())

    def _left_ms(self) -> int:
        if self.finished:
            return 0
        if self._handed is None:
            return self._limit_ms(self._mover())
        return max(0, self._limit_ms(self._mover()) - int((self._loop.time() - self._handed) * 1000))

    def _limit_ms(self, seat: RoomSeat) -> int:
        return self.time_limit_ms if seat.time_limit_ms is None else seat.time_limit_ms

    # ---- What players do ----

    def move(self, seat: RoomSeat, direction: int, turn: int | None = None, arrived: float | None = None) -> Waiter:
        """Take an order (0..4) of a seat; the answer is its next state, when there is one. Raises `Refusal`.

        `arrived` is when the order began to arrive, by the loop's clock; None for now. An order that arrived before the state
        of this turn was sent was meant for an earlier turn, and is refused, unless `turn` says otherwise.
        `turn` is the turn that the order is meant for, if the client says so. An order for a turn whose order was already
        taken is a repeat: it is answered like the first and never played again.
        """
        repeated = turn is not None and turn % 4 == seat.index and 0 <= turn <= seat.ordered
        over = self.finished
        if self.crashed(seat) and not (over and not self.training):
            raise game_error("Time out! You must play faster")
        if not repeated:
            if over:
                raise game_error("The game is finished")
            self._check_turn(seat, turn, arrived)
        waiter: Waiter = self._loop.create_future()
        if not repeated:
            if turn is None:
                seat.not_before = self._loop.time() + SAME_INSTANT_SECONDS
            self._take(seat, direction)
            self._add(seat, waiter)
        elif over or (self._handed is not None and self._mover() is seat and seat.ordered < self.turn):
            waiter.set_result(self.snapshot(seat))
        else:
            self._add(seat, waiter)
        return waiter

    def withdraw(self, seat: RoomSeat) -> None:
        """Take a player out: his hero crashes, now if it is his turn, else when it comes."""
        if seat.withdrawn or self.finished or self.crashed(seat):
            return
        seat.withdrawn = True
        if self._mover() is seat and self._handed is not None and seat.ordered < self.turn:
            self._play_and_go_on(CRASH)

    def _mover(self) -> RoomSeat:
        return self.seats[self.turn % 4]

    def _check_turn(self, seat: RoomSeat, turn: int | None, arrived: float | None) -> None:
        if self._mover() is seat and seat.ordered == self.turn:
            raise game_error("Not your turn to move")
        if self._mover() is not seat or self._handed is None:
            raise game_error("Wait, you're not supposed to play now")
        if turn is not None and turn != self.turn:
            raise game_error("Not your turn to move")
        if turn is None and (not self._sent or (arrived is not None and arrived < self._handed)):
            raise game_error("Wait, you're not supposed to play now")

    def _add(self, seat: RoomSeat, waiter: Waiter) -> None:
        seat.waiters = [other for other in seat.waiters if not other.done()]
        seat.waiters.append(waiter)
        if len(seat.waiters) > MAX_WAITERS:
            seat.waiters.pop(0).set_result(game_error("Not your turn to move"))

    def _take(self, seat: RoomSeat, direction: int) -> None:
        assert self._handed is not None
        seat.ordered = self.turn
        early = self._handed + MIN_PLY_SECONDS - self._loop.time() if self._paced else 0.0
        if early > 0:
            self._after(early, self._play_and_go_on, direction)
        else:
            self._play_and_go_on(direction)

    def sent(self, seat: RoomSeat, snapshot: Snapshot) -> None:
        """The answer with this snapshot has been written to its connection: the clock starts from here, once."""
        if self._sent or self._handed is None or snapshot.turn != self.turn or self._mover() is not seat:
            return
        self._sent = True
        if seat.ordered < self.turn and not self.finished:
            self._start_clock()

    # ---- What happens by itself ----

    def begin(self) -> None:
        """Start the game: the first state goes to hero 1."""
        self._tell(lambda observer: observer.began(self))
        self._go_on()

    def close(self) -> None:
        """Stop at once, without a result; open requests are refused."""
        self._cancel_timer()
        for seat in self.seats:
            seat.answer(self.snapshot(seat) if self.finished else Refusal(503, "Vindinium - The server is closing"))

    def _go_on(self) -> None:
        """Let whoever's turn it is move, or end the game."""
        while not self.finished:
            seat = self._mover()
            if not self.crashed(seat):
                early = seat.not_before - self._loop.time()
                if early > 0:
                    self._after(early, self._ask, seat)
                else:
                    self._ask(seat)
                return
            self._play(STAY)
        self._cancel_timer()
        waited = [future for observer in self._observers if (future := observer.ended(self)) is not None]
        if waited:
            # Who has been told that a game is over can rely on its being kept; but no player waits for a stuck disk.
            self._after(KEEPING_SECONDS, self._answer_all)
            asyncio.gather(*waited, return_exceptions=True).add_done_callback(lambda _: self._answer_all())
        else:
            self._answer_all()

    def _answer_all(self) -> None:
        self._cancel_timer()
        for seat in self.seats:
            seat.answer(self.snapshot(seat))

    def _ask(self, seat: RoomSeat) -> None:
        if seat.withdrawn:
            self._after(0.0, self._play_and_go_on, CRASH)
            return
        if seat.bot:
            self._after(BOT_SECONDS if self._paced else 0.0, self._play_for_bot)
            return
        self.state()  # making it is no part of his time
        self._start_clock()
        self._sent = all(waiter.done() for waiter in seat.waiters)  # with nobody listening there is nothing to be sent
        seat.answer(self.snapshot(seat))

    def _start_clock(self) -> None:
        self._handed = self._loop.time()
        self._after(self._limit_ms(self._mover()) / 1000, self._late, GRACE_ROUNDS)

    def _late(self, rounds: int) -> None:
        if rounds:
            self._cancel_timer()
            self._timer = self._loop.call_soon(self._late, rounds - 1)
        else:
            self._play_and_go_on(CRASH)

    def _play_for_bot(self) -> None:
        self._play_and_go_on(self._random.randrange(1, len(DIRECTIONS)))

    def _play_and_go_on(self, move: int) -> None:
        # The next state is handed out a moment later, so that of two orders sent at once the second, which is already in
        # the loop's queue, is seen as what it is: out of turn.
        self._play(move)
        self._after(0.0, self._go_on)

    def _play(self, move: int) -> None:
        self._cancel_timer()
        self._handed, self._state = None, None
        self.history.play(move)
        self._tell(lambda observer: observer.played(self, move))

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

    def _tell(self, what: Callable[[RoomObserver], None]) -> None:
        for observer in self._observers:
            what(observer)
