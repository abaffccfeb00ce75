"""A room: one running game with its four seats and its clock. This module does not depend on HTTP.

A turn begins when the room hands out the state: it answers every open request of the seat whose turn it is, and starts the
clock. Then it accepts one move of this seat. If the player does not move within the time limit, its hero crashes and stays in
place for the rest of the game. At the end of the game every open request gets the final state.

Call all methods in one event loop. No method blocks. Times are in seconds on the loop's clock.
"""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from sim.game import CRASH, DIRECTIONS, RUNNING, STAY, Games
from vindibot.games.history import GameHistory
from vindibot.games.outcome import Reason, reason_of
from vindibot.games.protocol import Player, encode_json, from_games
from vindibot.server.refusal import Refusal, closing_refusal, game_error
from vindibot.server.users import random_word

#: Characters of a token: 118 random bits. A token has only letters and digits, as clients expect.
TOKEN_LENGTH = 24
#: Times with the pace "original", in seconds: the shortest time between a state and the effect of the player's move, and the
#: time of a random bot for a move.
MIN_PLY_SECONDS = 0.060
BOT_SECONDS = 0.150
#: The shortest time in seconds between a move without a turn number and the seat's next state. If a client sends two moves at
#: the same time, the second move arrives before the next state and is refused.
SAME_INSTANT_SECONDS = 0.002
#: Largest number of open requests of one seat (a client may repeat a move on new connections). If there are more, the oldest
#: request is refused.
MAX_WAITERS = 4
#: Rounds of the event loop between the end of the time limit and the crash. The server needs four or five rounds to accept a
#: connection, read the request and start its task. So a move that arrived in time is still read.
GRACE_ROUNDS = 8
#: The longest time in seconds for which the room waits for its observers before the players get the final state.
MAX_END_SECONDS = 10.0


@dataclass(frozen=True)
class Snapshot:
    """The answer to a player: the game and the player's hero as JSON, and the turn.

    `limit_ms` is the time left for the move in milliseconds, 0 if the game is over.
    """

    game: bytes
    hero: bytes
    turn: int
    limit_ms: int


#: An open request. Its result is a snapshot, or a refusal.
Waiter = asyncio.Future["Snapshot | Refusal"]


@dataclass(eq=False)
class RoomSeat:
    """The seat of one hero. `bot` says whether a random bot of the server has this seat.

    `waiters` are the open requests of the player. `moved_turn` is the turn of the seat's last move, -1 before the first move.
    `not_before` is the earliest time at which the seat may get its next state. `time_limit_ms` is this seat's own time limit for
    a move, None for the room's limit (see `Room.change_limit`). `stays_when_late` says that the hero stays for a
    turn if the move is late, instead of a crash. `withdrawn` says that the hero crashes on its next turn.
    """

    index: int
    player: Player
    bot: bool = False
    token: str = ""
    waiters: list[Waiter] = field(default_factory=list)
    moved_turn: int = -1
    not_before: float = 0.0
    time_limit_ms: int | None = None
    stays_when_late: bool = False
    withdrawn: bool = False

    def answer(self, outcome: Snapshot | Refusal) -> None:
        """Answer every open request of this seat with `outcome`."""
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(outcome)
        self.waiters.clear()


class RoomObserver(Protocol):
    """An object that a room calls when its game has begun, after each ply, and at the end.

    A subclass overrides the methods that it needs. They must return quickly and must not raise.
    """

    def began(self, room: Room) -> None:
        """Handle the beginning of the game."""
        return

    def played(self, room: Room, move: int) -> None:
        """Handle a ply. `move` is 0..4 or `sim.game.CRASH`."""
        return

    def ended(self, room: Room) -> asyncio.Future[Any] | None:
        """Handle the end of the game. If the result is a future, the room waits for it, but at most `MAX_END_SECONDS`.

        Then the players get the final state.
        """
        return None


class Scheduled(Protocol):
    """A scheduled ply that has not begun. `cancel` drops this ply."""

    def cancel(self) -> None: ...


class Pacer(Protocol):
    """Decides when the moves of a game are played. For example, it slows a game down so that people can watch it.

    A pause comes after the player has sent its move. So a pause never makes a move late.
    """

    def schedule(self, play: Callable[[], None], since: float) -> Scheduled:
        """Call `play` once, in the event loop. `since` is the loop's time of the previous ply."""


class Room:
    """One game. Call `begin` once to start it.

    The argument `games` is the state before the first ply (a `sim.game.Game`). The attribute `games` is the newest state.
    `history` is the game so far. `time_limit_ms` is the time limit for a move in milliseconds. `first_limit_ms` is the time limit
    for the first move of each hero; it has no effect if the time limit of the seat is longer. A `pacer` delays each move; then
    `pace` has no effect.
    """

    def __init__(
        self,
        room_id: str,
        games: Games,
        seats: Sequence[RoomSeat],
        *,
        time_limit_ms: int,
        first_limit_ms: int | None = None,
        pace: str = "none",
        seed: int = 0,
        rated: bool = False,
        observers: Sequence[RoomObserver] = (),
        pacer: Pacer | None = None,
    ) -> None:
        self.id = room_id
        self.pace, self.seed, self.rated = pace, seed, rated
        self.seats = tuple(seats)
        self.time_limit_ms, self.first_limit_ms = time_limit_ms, first_limit_ms or 0
        self.history = GameHistory(room_id, [seat.player for seat in self.seats], first=games, limit_ms=time_limit_ms)
        self.games = games = self.history.last
        self.training = bool(games["training"].item(0))
        # These are views into the record, because each access through an element of the array would cost microseconds.
        self._turn, self._status, self._crashed = games["turn"], games["status"], games["hero"]["crashed"][0]
        self._paced = pace == "original"
        self._random = random.Random(seed)
        self._observers = tuple(observers)
        self._loop = asyncio.get_running_loop()
        self._timer: Scheduled | None = None
        self._pacer, self._played_at = pacer, self._loop.time()
        self._handed_out: float | None = None  # time at which the mover got this turn's state, None if it has not got it yet
        self._sent = False  # whether the answer with this turn's state is written to the mover's connection
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
        """The current turn: the number of plies played. A crash that ends the game is not counted."""
        return int(self._turn.item(0))

    @property
    def finished(self) -> bool:
        """Whether the game is over."""
        return bool(self._status.item(0) != RUNNING)

    @property
    def ending(self) -> Reason:
        """The reason why the game ended. For a game that still runs it is `Reason.INTERRUPTED`."""
        return reason_of(self._status.item(0))

    def crashed(self, seat: RoomSeat) -> bool:
        """Return whether this seat's hero has crashed."""
        return bool(self._crashed.item(seat.index))

    def has_user(self, user_id: str) -> bool:
        """Return whether this user plays in this game."""
        return any(seat.player.user_id == user_id for seat in self.seats)

    def find_seat(self, token: str) -> RoomSeat:
        """Return the seat with this token. Raises `Refusal` if the token is wrong."""
        for seat in self.seats:
            if secrets.compare_digest(seat.token.encode(), token.encode("utf-8", "replace")) and not seat.bot:
                return seat
        raise game_error("Wrong or expired token", 404)

    def state(self) -> tuple[dict[str, Any], bytes]:
        """Return the newest state in the format of the protocol, as a dict and as JSON. Both are made only once per ply."""
        if self._state is None:
            wire = from_games(self.games, game_id=self.id, players=[other.player for other in self.seats])
            self._state = wire, encode_json(wire)
        return self._state

    def snapshot(self, seat: RoomSeat) -> Snapshot:
        """Return the newest state as a `Snapshot` for the player on this seat."""
        wire, text = self.state()
        return Snapshot(text, encode_json(wire["heroes"][seat.index]), self.turn, self.left_ms())

    @property
    def _mover(self) -> RoomSeat:
        return self.seats[self.turn % 4]

    def _usual_limit_ms(self, seat: RoomSeat) -> int:
        return self.time_limit_ms if seat.time_limit_ms is None else seat.time_limit_ms

    def _limit_ms(self, seat: RoomSeat) -> int:
        """Return the time limit for this seat's next move."""
        usual = self._usual_limit_ms(seat)
        return usual if seat.moved_turn >= 0 else max(usual, self.first_limit_ms)

    def left_ms(self) -> int:
        """Return the time that is left for the current move in milliseconds, 0 after the end of the game."""
        if self.finished:
            return 0
        spent = 0.0 if self._handed_out is None else self._loop.time() - self._handed_out
        # A client must not plan with the longer time for its first move. This time is for the start of its program.
        return max(0, min(self._usual_limit_ms(self._mover), self._limit_ms(self._mover) - int(spent * 1000)))

    def _awaits(self, seat: RoomSeat) -> bool:
        """Return whether this seat has got this turn's state and has not moved yet."""
        return self._mover is seat and self._handed_out is not None and seat.moved_turn < self.turn

    # ---- Calls of the players ----

    def move(self, seat: RoomSeat, direction: int, turn: int | None = None) -> Waiter:
        """Accept a move (0..4) of a seat. Return a future whose result is the answer with the seat's next state.

        `turn` is the turn that the move is for, None if the client does not name it. A second move for the same turn is a
        repeat: it is not played and gets the same answer as the first one. Without `turn`, a move before this turn's state was
        sent counts as a move for an earlier turn and is refused.

        Raises `Refusal` for a move that is refused.
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
        self._check_turn(seat, turn)
        if turn is None:
            seat.not_before = self._loop.time() + SAME_INSTANT_SECONDS
        self._take(seat, direction)
        self._add(seat, waiter)
        return waiter

    def withdraw(self, seat: RoomSeat) -> None:
        """Make the hero of this seat crash: immediately if it is the hero's turn, otherwise on the hero's next turn."""
        if seat.withdrawn or self.finished or self.crashed(seat):
            return
        seat.withdrawn = True
        if self._awaits(seat):
            self._play_then_advance(CRASH)

    def change_limit(self, seat: RoomSeat, limit_ms: int) -> None:
        """Set the time limit of a seat. If the seat now has less time left for the current move, its clock starts anew."""
        shorter = self._awaits(seat) and limit_ms < self.left_ms()
        seat.time_limit_ms = limit_ms
        if shorter:
            self._start_clock()

    def _check_turn(self, seat: RoomSeat, turn: int | None) -> None:
        if self.finished:
            raise game_error("The game is finished")
        if self._mover is seat and seat.moved_turn == self.turn:
            raise game_error("Not your turn to move")
        if self._mover is not seat or self._handed_out is None:
            raise game_error("Wait, you're not supposed to play now")
        if turn is not None and turn != self.turn:
            raise game_error("Not your turn to move")
        if turn is None and not self._sent:
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
        if self._pacer is not None:
            self._play_paced(self._pacer, direction)
        elif early > 0:
            self._after(early, self._play_then_advance, direction)
        else:
            self._play_then_advance(direction)

    def sent(self, seat: RoomSeat, snapshot: Snapshot) -> None:
        """Tell the room that the answer with this snapshot is written to the player's connection.

        The first call in each turn starts the clock for the move anew.
        """
        if self._sent or self._handed_out is None or snapshot.turn != self.turn or self._mover is not seat:
            return
        self._sent = True
        if seat.moved_turn < self.turn and not self.finished:
            self._start_clock()

    # ---- Course of the game ----

    def begin(self) -> None:
        """Start the game: hand out the first state to hero 1."""
        for observer in self._observers:
            observer.began(self)
        self._advance()

    def close(self) -> None:
        """Stop the game immediately, without a result. Refuse open requests, or answer them if the game is over."""
        self._cancel_timer()
        self._handed_out = None  # a client that goes away now is not awaited
        for seat in self.seats:
            seat.answer(self.snapshot(seat) if self.finished else closing_refusal())

    def _advance(self) -> None:
        """Play the turns of crashed heroes, then hand out the state to the next hero, or end the game if it is over."""
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
            # The players get the final state once the game is stored, or after `MAX_END_SECONDS` if the disk is stuck.
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
            if self._pacer is not None:
                self._play_paced(self._pacer, move)
            else:
                self._after(BOT_SECONDS if self._paced else 0.0, self._play_then_advance, move)
        else:
            self.state()  # so that the state is encoded before the clock starts
            self._start_clock()
            self._sent = all(waiter.done() for waiter in seat.waiters)  # without open requests there is nothing to send
            seat.answer(self.snapshot(seat))

    def _start_clock(self) -> None:
        self._handed_out = self._loop.time()
        self._after(self._limit_ms(self._mover) / 1000, self._time_out, GRACE_ROUNDS)

    def _time_out(self, rounds: int) -> None:
        if rounds:
            self._after(0.0, self._time_out, rounds - 1)
            return
        seat = self._mover
        if seat.stays_when_late:
            seat.moved_turn = self.turn  # a move that comes now is a repeat, which is not played
        self._play_then_advance(STAY if seat.stays_when_late else CRASH)

    def _play_paced(self, pacer: Pacer, move: int) -> None:
        self._cancel_timer()
        self._timer = pacer.schedule(partial(self._play_then_advance, move), self._played_at)

    def _play_then_advance(self, move: int) -> None:
        # The next state is handed out a round of the loop later. If a client sent two moves at once, the second move is already
        # in the loop's queue. So it comes before the next state and is refused.
        self._play(move)
        self._after(0.0, self._advance)

    def _play(self, move: int) -> None:
        self._cancel_timer()
        self._handed_out, self._state = None, None
        self._played_at = self._loop.time()
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
