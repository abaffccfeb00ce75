"""The client of one game over HTTP: it joins and sends moves until the game ends, and recovers from faults.

A temporary fault must not lose the game. After a lost reply the client immediately sends the move a second time. If the server
then answers that it is not our turn, it has already accepted the move. The client is now **out of step**: it has no state to
answer. In this case it sends Stay at short intervals until it receives a state. A permanent fault ends the game with a `Reason`
and the server's text.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, NoReturn, Self, TypeVar

import structlog
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from sim.game import DIRECTIONS, PLIES_PER_ROUND, STAY, Game
from vindibot.base.address import ServerAddress
from vindibot.client.api import GameApi, Meaning, Verdict, fault_verdict
from vindibot.client.backoff import Backoff, Pause, TimeBudget
from vindibot.client.keys import check_player_key
from vindibot.client.queue import GameQueue, QueueWatch
from vindibot.client.transport import TransportError, Within
from vindibot.games.outcome import Outcome, Reason
from vindibot.games.protocol import Answer, ProtocolError, answer_games, check_hero_id

#: The shortest and the longest pause, in seconds, between attempts to join, and between repeats of a move.
JOIN_PAUSES = (0.25, 30.0)
MOVE_PAUSES = (0.05, 0.15)
#: Seconds between requests while the client is out of step with the server.
RESYNC_PAUSE = 0.15
#: A server refuses a move at once, but answers an accepted move only on our next turn. So if no refusal comes within this number
#: of seconds (plus the network time), the server has accepted the move.
ACCEPTED_AFTER = 0.15
#: The client gives up after the server has answered this number of joining requests without JSON (such as an HTML page) or with
#: status 500.
MAX_JOINS = 3
#: The client gives up after the server has refused a move this number of times without a known reason.
MAX_REFUSALS = 2

_log = structlog.get_logger("vindibot.client.game_client")
_T = TypeVar("_T")

#: A function that chooses a direction 0..4 for a state. Its arguments are the server's answer, its state as a game of `sim`, and
#: the time (of `time.monotonic`) at which the client received the answer.
Decide = Callable[[Answer, Game, float], Awaitable[int]]


class ClientSettings(BaseModel):
    """The settings of one game over HTTP. All times are in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    server: str = Field(description="address of the server, such as http://localhost:8080")
    key: SecretStr = Field(description="the bot's key on that server")
    mode: Literal["training", "arena"] = "training"
    turns: int | None = Field(None, description="training: length of the game in rounds; None for the server's default")
    map: str | None = Field(None, description="training: name or text of a map; None for a random map")
    allow_old_domain: bool = Field(False, description="send the key even to vindinium.org, which has another owner now")
    time_limit: float = Field(1.0, gt=0, description="time limit of a move if the server states none")
    connect_timeout: float = Field(60.0, ge=0, description="time limit for reaching the server before a game")
    join_timeout: float | None = Field(
        None, gt=0, description="time limit until a game begins; None: training 10 minutes, arena no limit"
    )
    move_timeout: float = Field(15.0, gt=0, description="time limit for the opponents' moves between two of our turns")
    resync_timeout: float = Field(30.0, gt=0, description="time limit for recovering from a lost answer")
    ask_missing: bool = Field(False, description="arena: ask the server how many clients are missing while we wait for a game")
    report_every: float = Field(10.0, gt=0, description="time between two reports while we wait for a game")

    @property
    def join_seconds(self) -> float | None:
        """The time limit until a game begins, in seconds. None for no limit."""
        if self.join_timeout is None and self.mode == "training":
            return 600.0
        return self.join_timeout


@dataclass(frozen=True)
class ClientResult:
    """The result of `GameClient.play`.

    - `outcome`: why the game ended, as a reason and a message.
    - `last`: the last answer of the server, None if we did not join a game.
    - `faults`: the number of replies that were lost or invalid.
    - `lost_turns`: the number of our turns that were played without a decision while the client was out of step with the server.
    """

    outcome: Outcome
    last: Answer | None = None
    faults: int = 0
    lost_turns: int = 0


class ClientEvents:
    """The callbacks of a client. Override the callbacks that you need. They run in the event loop and must return quickly."""

    def retrying(self, problem: str, pause: float) -> None:
        """Handle a failed attempt to join. `problem` is the reason. The next attempt follows after `pause` seconds."""

    def waiting(self, seconds: float) -> None:
        """Handle that the game has not begun yet, `seconds` seconds after the request."""

    def queued(self, queue: GameQueue) -> None:
        """Handle what the server says about the game that has not begun, at each change. See ``ClientSettings.ask_missing``."""

    def joined(self, answer: Answer) -> None:
        """Handle the beginning of the game. The game's id and our hero's id are valid. The state has not been checked yet."""


class _Ended(Exception):  # noqa: N818 - not an error
    """Raised anywhere in the client to end the game."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.outcome = Outcome(reason, message)


class GameClient:
    """Plays one game: ``async with GameClient(settings) as client: result = await client.play(decide)``.

    Raises `UsageError` for an invalid address or key. Later faults of the server or the network lead to a `ClientResult`, never
    to an exception. If `play` is cancelled, the connection is closed at once. `pause` and `rng` are for tests.
    """

    def __init__(self, settings: ClientSettings, *, pause: Pause = asyncio.sleep, rng: random.Random | None = None) -> None:
        self.settings = settings
        self.address = ServerAddress.parse(settings.server, allow_old_domain=settings.allow_old_domain)
        key = check_player_key(settings.key, "the key")
        self._api = GameApi(self.address, key)
        self._queue = QueueWatch(self.address, key, self._api.redact)
        self._watches: set[asyncio.Task[None]] = set()
        self._pause = pause
        self._rng = rng or random.Random()
        self._stop = asyncio.Event()
        self._events = ClientEvents()
        self._log = _log
        self._last: Answer | None = None
        self._faults = self._lost_turns = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._api.aclose()

    @property
    def time_limit(self) -> float:
        """The time limit for a move in seconds: the limit that the server states, or else the configured limit."""
        return self._api.time_limit if self._api.time_limit is not None else self.settings.time_limit

    @property
    def network_seconds(self) -> float:
        """The network time of a move and its reply in seconds. It is measured before the client joins, and is 0 until then."""
        return self._api.network_seconds

    def stop_after_turn(self) -> None:
        """Make `play` return after this turn with the reason "interrupted".

        The client still decides and sends the move of this turn, and waits for the answer. Before a game begins, or while the
        client is out of step with the server, `play` returns at once. This method can be called repeatedly.
        """
        self._stop.set()

    async def play(self, decide: Decide, events: ClientEvents | None = None) -> ClientResult:
        """Join, play to the end, and return the result. `decide` is called once for each of our turns, in ascending order.

        If a state contradicts itself, the game ends without a call of `decide`. If `decide` raises a `ProtocolError`, the game
        ends. Any other error of `decide` is raised by `play`.
        """
        self._events = events if events is not None else ClientEvents()
        try:
            answer, received_at = await self._join()
            while True:
                games = self._check_end(answer)
                direction = await decide(answer, games, received_at)
                answer, received_at = await self._exchange(answer, received_at, direction)
        except _Ended as end:
            ended = end
        except ProtocolError as error:
            ended = _Ended(
                Reason.PROTOCOL_ERROR, f"{self.address} sent a state that cannot be played: {self._api.redact(error.message)}"
            )
        finally:
            await asyncio.gather(*self._watches, return_exceptions=True)
            await self._api.aclose()
        outcome = ended.outcome
        self._log.debug("the game is over", reason=str(outcome.reason), message=outcome.message, faults=self._faults)
        return ClientResult(outcome, self._last, self._faults, self._lost_turns)

    def _check_end(self, answer: Answer) -> Game:
        """Store a new state and return its game. End if it is finished, if our hero has crashed, or after a request to stop.

        Raises `ProtocolError` if the state contradicts itself.
        """
        games = answer_games(answer)
        before, self._last = self._last, answer
        self._log = self._log.bind(turn=answer.game.turn)
        if answer.hero.crashed:
            turn = before.game.turn if before is not None else answer.game.turn
            _end(Reason.TIMEOUT, f"the move of turn {turn} came too late, the game is forfeited")
        if answer.game.finished:
            _end(Reason.FINISHED, f"the game is finished after {answer.game.turn} plies")
        if self._stop.is_set():
            _end(Reason.INTERRUPTED, f"stopped on request, on turn {answer.game.turn}")
        return games

    # ---- Joining ----

    async def _join(self) -> tuple[Answer, float]:
        """Join a game. Return the first answer, and the time (of `time.monotonic`) at which it was received."""
        waiting = TimeBudget(self.settings.join_seconds)
        reaching = TimeBudget(self.settings.connect_timeout)
        backoff = Backoff(*JOIN_PAUSES, self._rng)
        repeats = 0
        while True:
            begun = time.monotonic()
            verdict = await self._join_once(waiting)
            if verdict.answer is not None:
                return self._joined(verdict.answer), verdict.received_at
            repeats += verdict.meaning is Meaning.GARBLED or verdict.status == 500
            self._check_join(verdict, repeats)
            if waiting.exhausted:
                _end(Reason.NO_GAME, f"no game on {self.address} within {waiting.spent:.0f} s")
            if time.monotonic() - begun > JOIN_PAUSES[1]:  # the server held the connection for long: use short pauses again
                reaching = TimeBudget(self.settings.connect_timeout)
                backoff.reset()
            pause = max(backoff.next(), verdict.retry_after or 0.0)
            if reaching.exhausted:
                _end(Reason.UNREACHABLE, f"gave up after {reaching.spent:.0f} s: {verdict.words}")
            if verdict.retry_after is not None and pause > (reaching.left or 0.0):
                _end(Reason.UNREACHABLE, f"{self.address} asks to come back in {pause:.0f} s: {verdict.words}")
            self._log.debug("cannot join yet", problem=verdict.words, pause=round(pause, 2))
            self._events.retrying(verdict.words, pause)
            await self._unless_stopped(reaching.pause(pause, self._pause))

    async def _join_once(self, waiting: TimeBudget) -> Verdict:
        try:
            await self._unless_stopped(self._api.reach())
        except TransportError as fault:
            return fault_verdict(fault)
        settings = self.settings
        turns, map_text = (settings.turns, settings.map) if settings.mode == "training" else (None, None)
        request = self._api.join(settings.mode, turns, map_text, Within(head=waiting.left))
        with self._asking():
            return await self._unless_stopped(request, self._report_waiting)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Within the ``with`` block, ask the server how many clients are missing. The end of the block waits for nothing."""
        if not (self.settings.ask_missing and self.settings.mode == "arena"):
            yield
            return
        watch = asyncio.create_task(self._queue.run(self._events.queued))
        self._watches.add(watch)
        watch.add_done_callback(self._watches.discard)
        try:
            yield
        finally:
            watch.cancel()

    def _report_waiting(self, seconds: float) -> None:
        self._log.debug("waiting for the game to begin", seconds=round(seconds))
        self._events.waiting(seconds)

    def _joined(self, answer: Answer) -> Answer:
        check_hero_id(answer)
        self._log = self._log.bind(game=answer.game.id, hero=answer.hero.id, turn=answer.game.turn)
        self._log.debug(
            "joined",
            server=str(self.address),
            limit_ms=round(1000 * self.time_limit),
            network_ms=round(1000 * self.network_seconds, 1),
        )
        self._events.joined(answer)
        return answer

    def _check_join(self, verdict: Verdict, repeats: int) -> None:
        """End the game if further attempts to join cannot succeed.

        `repeats` is the number of answers so far without JSON (such as an HTML page) or with status 500.
        """
        if verdict.meaning is Meaning.UNKNOWN:
            _end(Reason.REFUSED, f"{self.address} does not know /api/{self.settings.mode}: {verdict.words}")
        if verdict.meaning is Meaning.MALFORMED:
            _end(Reason.PROTOCOL_ERROR, f"{self.address} does not speak the protocol: {verdict.words}")
        if verdict.meaning is Meaning.LEAGUE_OVER:
            _end(Reason.LEAGUE_OVER, f"the league on {self.address} has no more games")
        if verdict.meaning not in (Meaning.LOST, Meaning.BUSY, Meaning.GARBLED):
            if "Key not found" in verdict.words:
                _end(Reason.REFUSED, f"{self.address} does not know this key; check your slip ({verdict.words})")
            _end(Reason.REFUSED, f"{self.address} says: {verdict.words}" if verdict.status else verdict.words)
        if repeats >= MAX_JOINS and verdict.status == 500:
            hint = " (the original server answers so to a map that it cannot read)" if self.settings.map else ""
            _end(Reason.REFUSED, f"{self.address} fails with status 500{hint}: {verdict.words}")
        if repeats >= MAX_JOINS:
            _end(Reason.PROTOCOL_ERROR, f"{self.address} is not a Vindinium server: {verdict.words}")

    # ---- Moves ----

    async def _exchange(self, previous: Answer, received_at: float, direction: int) -> tuple[Answer, float]:
        """Send the move for the state `previous`, and return the next answer with the time when it was received.

        The client repeats the move as long as the server may not have received it. When the server has certainly received the
        move, or has answered that it is not our turn, the client sends Stay instead. A server that understands the turn of a move
        recognises a repeat. To such a server the client always sends the same move.
        """
        turn = previous.game.turn
        timeout = TimeBudget(self.settings.resync_timeout)
        backoff = Backoff(*MOVE_PAUSES, self._rng)
        faults = refusals = 0
        problems: set[str] = set()
        out_of_step = False
        while True:
            begun = time.monotonic()
            verdict = await self._send_move(direction, turn, out_of_step)
            if verdict.answer is not None and self._is_next(verdict.answer, previous):
                if faults:
                    self._resynchronised(verdict.answer, turn, faults)
                return verdict.answer, verdict.received_at
            self._check_move(verdict, turn)
            faults += 1
            refusals += verdict.meaning is Meaning.REFUSED
            problem = verdict.words
            if verdict.answer is not None:
                problem = f"the server answered with turn {verdict.answer.game.turn} again"
            self._faults += 1
            say = self._log.warning if problem not in problems else self._log.debug
            say("the reply to a move was lost or invalid", problem=problem)
            problems.add(problem)
            if verdict.status == 200:  # later replies on this connection may belong to earlier requests
                await self._api.aclose()
            now = time.monotonic()
            accepted = verdict.meaning is Meaning.WAIT or (verdict.sent and now - begun > ACCEPTED_AFTER + self.network_seconds)
            out_of_step = out_of_step or accepted or now > received_at + self.time_limit
            if self._stop.is_set() and out_of_step:
                _end(Reason.INTERRUPTED, f"stopped on request, on turn {turn}; its answer was lost")
            if refusals >= MAX_REFUSALS:
                _end(Reason.REFUSED, f"{self.address} does not accept the move of turn {turn}: {problem}")
            if timeout.exhausted:
                malformed = verdict.meaning in (Meaning.MALFORMED, Meaning.GARBLED)
                reason = Reason.PROTOCOL_ERROR if malformed else Reason.UNREACHABLE
                _end(reason, f"gave the game up on turn {turn} after {timeout.spent:.0f} s and {faults} attempts: {problem}")
            if faults > 1 or verdict.meaning in (Meaning.WAIT, Meaning.BUSY):
                await timeout.pause(RESYNC_PAUSE if out_of_step else backoff.next(), self._pause)

    async def _send_move(self, direction: int, turn: int, out_of_step: bool) -> Verdict:
        limit = self.time_limit
        within = Within(connect=max(0.25, limit / 3), head=max(self.settings.move_timeout, 4 * limit), body=max(0.25, limit / 2))
        if out_of_step and not self._api.understands_turn:
            return await self._api.move(STAY, None, within)
        self._log.debug("move", direction=DIRECTIONS[direction])
        return await self._api.move(direction, turn, within)

    def _is_next(self, answer: Answer, previous: Answer) -> bool:
        """Return whether `answer` has a later state of the same game.

        If a crash ends the game, the last state has the same turn as the state before.
        """
        check_hero_id(answer)
        game, before = answer.game, previous.game
        if game.id != before.id or answer.hero.id != previous.hero.id:
            return False
        return game.turn > before.turn or (game.finished and game.turn == before.turn)

    def _check_move(self, verdict: Verdict, turn: int) -> None:
        """End the game if the server says that the move was late, that the game is over, or that it does not know the game."""
        if verdict.meaning is Meaning.TIMED_OUT:
            _end(Reason.TIMEOUT, f"the move of turn {turn} came too late, the game is forfeited: {verdict.words}")
        if verdict.meaning is Meaning.UNKNOWN:
            _end(Reason.UNKNOWN_GAME, f"{self.address} does not know this game or our token any more: {verdict.words}")
        if verdict.meaning is Meaning.OVER:
            _end(Reason.FINISHED, f"the game is finished; its last state was lost after turn {turn}: {verdict.words}")

    def _resynchronised(self, answer: Answer, turn: int, faults: int) -> None:
        lost = max(0, (answer.game.turn - turn - 1) // PLIES_PER_ROUND)
        self._lost_turns += lost
        self._log.info("in step with the server again", new_turn=answer.game.turn, lost_turns=lost, attempts=faults)

    # ---- Stopping ----

    async def _unless_stopped(self, work: Coroutine[Any, Any, _T], report: Callable[[float], None] | None = None) -> _T:
        """Return the result of `work`. On a request to stop, cancel `work` and end the game at once.

        Every `report_every` seconds, `report` is called with the number of seconds since `work` began.
        """
        begun = time.monotonic()
        task = asyncio.ensure_future(work)
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            while not task.done():
                await asyncio.wait((task, stop), timeout=self.settings.report_every, return_when=asyncio.FIRST_COMPLETED)
                if self._stop.is_set() and not task.done():
                    _end(Reason.INTERRUPTED, "stopped on request, before a game began")
                if report is not None and not task.done():
                    report(time.monotonic() - begun)
            return task.result()
        finally:
            for each in (task, stop):
                each.cancel()
            await asyncio.gather(task, stop, return_exceptions=True)


def _end(reason: Reason, message: str) -> NoReturn:
    raise _Ended(reason, message)
