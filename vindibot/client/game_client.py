"""A player's side of one game over HTTP: join, then order after order until the game ends, whatever the network does.

The law is that a game is not lost to a fault that passes. A lost reply is followed by one repeat of the order at once; a
server that then says it is not our turn has accepted the first one, and is asked again in short intervals, with a harmless
order, until it hands out a state. What cannot be cured ends the game with a named reason and the server's words.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, NoReturn, Self, TypeVar

import structlog
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from sim.game import DIRECTIONS, PLIES_PER_ROUND, STAY
from vindibot.base import ServerAddress, check_key
from vindibot.client.api import GameApi
from vindibot.client.backoff import Backoff, Pause, TimeBudget
from vindibot.client.replies import Meaning, Verdict
from vindibot.client.transport import TransportError, Within
from vindibot.games import Answer, Outcome, ProtocolError, Reason, check_answer, check_hero_id

#: Pauses between attempts to join, and between repeats of an order, in seconds: the first and the longest.
JOIN_PAUSES = (0.25, 30.0)
ORDER_PAUSES = (0.05, 0.15)
#: How often a server out of step is asked again.
RESYNC_PAUSE = 0.15
#: A server refuses an order at once, and keeps one that it has accepted until our next turn: when the reply is lost after more
#: than these seconds (and the time on the network), the order has been accepted.
ACCEPTED_AFTER = 0.15
#: A joining request that is answered with a page, or with status 500, is not repeated more often than this.
JOIN_REPEATS = 3
#: The same for an order that is refused without a known reason.
ORDER_REPEATS = 2

_log = structlog.get_logger("vindibot.client.game_client")
_T = TypeVar("_T")

#: Chooses a direction 0..4 for a state, which was received at a moment of `time.monotonic`.
Decide = Callable[[Answer, float], Awaitable[int]]


class ClientSettings(BaseModel):
    """What one game over HTTP needs to know. Times are seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    server: str = Field(description="address of the server, such as http://localhost:8080")
    key: SecretStr = Field(description="the bot's key on that server")
    mode: Literal["training", "arena"] = "training"
    turns: int | None = Field(None, description="training: rounds to play; None for the server's default")
    map: str | None = Field(None, description="training: a map's name or text; None for a random one")
    allow_old_domain: bool = Field(False, description="send the key even to vindinium.org, which belongs to strangers now")
    time_limit: float = Field(1.0, gt=0, description="for a move, where the server does not state its own")
    connect_timeout: float = Field(60.0, ge=0, description="to go on trying to reach a server before a game")
    join_timeout: float | None = Field(None, gt=0, description="to wait for a game; None: training 10 minutes, arena for ever")
    move_timeout: float = Field(15.0, gt=0, description="to wait for the opponents between two of our turns")
    resync_timeout: float = Field(30.0, gt=0, description="to go on after a lost answer")
    report_every: float = Field(10.0, gt=0, description="between two reports that we still wait for a game")

    @property
    def join_seconds(self) -> float | None:
        """How long to wait for a game; None for ever."""
        if self.join_timeout is None and self.mode == "training":
            return 600.0
        return self.join_timeout


@dataclass(frozen=True)
class ClientResult:
    """What came of one `play`: how it ended, and the last state we saw (None if we never joined).

    `moves` counts the turns we decided, `faults` the replies that were lost or useless, `lost_turns` the turns that were
    played by a harmless order while the client was out of step.
    """

    outcome: Outcome
    last: Answer | None = None
    moves: int = 0
    faults: int = 0
    lost_turns: int = 0


class ClientEvents:
    """What a client tells while it plays; override what is of interest. Called in the event loop: be quick."""

    def retrying(self, problem: str, pause: float) -> None:
        """The server could not be joined because of `problem`; the next attempt follows after `pause` seconds."""

    def waiting(self, seconds: float) -> None:
        """Still waiting for the game to begin, for `seconds` by now."""

    def joined(self, answer: Answer) -> None:
        """The game has begun. Its id and the number of our hero can be relied on; the state has not been checked yet."""

    def fault(self, turn: int, problem: str) -> None:
        """The reply to the order of `turn` was lost or useless; the client goes on."""

    def resynchronised(self, turn: int, lost_turns: int) -> None:
        """A state was received again after a fault: `turn`; so many of our turns were played without a decision."""


class _Ended(Exception):  # noqa: N818 - not an error
    """Leaves the loop of the game from wherever it is."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.outcome = Outcome(reason, message)


class GameClient:
    """Plays one game. Use it as ``async with GameClient(settings) as client: result = await client.play(decide)``.

    Raises `UsageError` at once for an address or a key that cannot be used; what a server or the network does later ends in
    a `ClientResult`, never in an exception. Cancelling `play` closes the connection and ends at once. `pause` and `rng` are
    arguments for the sake of tests.
    """

    def __init__(self, settings: ClientSettings, *, pause: Pause = asyncio.sleep, rng: random.Random | None = None) -> None:
        self.settings = settings
        self.address = ServerAddress.parse(settings.server, allow_old_domain=settings.allow_old_domain)
        self._line = GameApi(self.address, check_key(settings.key.get_secret_value(), "the key"))
        self._pause = pause
        self._rng = rng or random.Random()
        self._stop = asyncio.Event()
        self._events = ClientEvents()
        self._log = _log
        self._last: Answer | None = None
        self._moves = self._faults = self._lost_turns = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._line.aclose()

    @property
    def time_limit(self) -> float:
        """Seconds for a move, as the server states it, or else as configured."""
        return self._line.time_limit if self._line.time_limit is not None else self.settings.time_limit

    @property
    def network_seconds(self) -> float:
        """Seconds that an order and its answer spend on the way, measured before joining; 0 while nothing is known."""
        return self._line.network_seconds

    def stop_after_turn(self) -> None:
        """End soon and in order: an order that is being decided is still sent and its answer awaited, then `play` returns
        "interrupted". Without a game, or out of step with the server, it returns at once. May be called repeatedly."""
        self._stop.set()

    async def play(self, decide: Decide, events: ClientEvents | None = None) -> ClientResult:
        """Join and play to the end. `decide` is called once per turn of ours, with rising turns.

        A state that contradicts itself ends the game; it is not given to `decide`. Errors of `decide` pass through, except
        `ProtocolError`, which ends the game too.
        """
        self._events = events if events is not None else ClientEvents()
        try:
            answer, received_at = await self._join()
            while True:
                self._check_end(answer)
                direction = await decide(answer, received_at)
                self._moves += 1
                answer, received_at = await self._exchange(answer, received_at, direction)
        except _Ended as end:
            ended = end
        except ProtocolError as error:
            ended = _Ended(Reason.PROTOCOL_ERROR, f"{self.address} sent a state that cannot be played: {error.message}")
        finally:
            await self._line.aclose()
        outcome = ended.outcome
        self._log.debug("the game is over", reason=str(outcome.reason), message=outcome.message, faults=self._faults)
        return ClientResult(outcome, self._last, self._moves, self._faults, self._lost_turns)

    def _check_end(self, answer: Answer) -> None:
        """Take a new state in, and leave the game if it is the last one. Raises `ProtocolError` if it contradicts itself."""
        check_answer(answer)
        before, self._last = self._last, answer
        self._log = self._log.bind(turn=answer.game.turn)
        if answer.hero.crashed:
            turn = before.game.turn if before is not None else answer.game.turn
            _end(Reason.TIMEOUT, f"the order of turn {turn} came too late, the game is forfeited")
        if answer.game.finished:
            _end(Reason.FINISHED, f"the game is finished after {answer.game.turn} plies")
        if self._stop.is_set():
            _end(Reason.INTERRUPTED, f"stopped as asked, on turn {answer.game.turn}")

    # ---- Joining ----

    async def _join(self) -> tuple[Answer, float]:
        """The first state, and when it was received."""
        waiting = TimeBudget(self.settings.join_seconds)
        reaching = TimeBudget(self.settings.connect_timeout)
        backoff = Backoff(*JOIN_PAUSES, self._rng)
        repeats = 0
        while True:
            begun = time.monotonic()
            verdict = await self._join_once(waiting)
            if verdict.answer is not None:
                return self._joined(verdict.answer), verdict.received_at
            self._check_join(verdict)
            repeats += verdict.meaning is Meaning.GARBLED or verdict.status == 500
            if repeats >= JOIN_REPEATS:
                self._give_up_joining(verdict)
            if waiting.exhausted:
                _end(Reason.NO_GAME, f"no game on {self.address} within {waiting.spent:.0f} s")
            if time.monotonic() - begun > JOIN_PAUSES[1]:  # it was reached, and for long: begin anew
                reaching = TimeBudget(self.settings.connect_timeout)
                backoff.reset()
            pause = max(backoff.next(), verdict.retry_after or 0.0)
            if reaching.exhausted:
                _end(Reason.UNREACHABLE, f"gave up after {reaching.spent:.0f} s: {verdict.words}")
            if verdict.retry_after is not None and pause > (reaching.left or 0.0):
                _end(Reason.UNREACHABLE, f"{self.address} asks to come back in {pause:.0f} s: {verdict.words}")
            self._log.warning("cannot join yet", problem=verdict.words, pause=round(pause, 2))
            self._events.retrying(verdict.words, pause)
            await self._unless_stopped(reaching.pause(pause, self._pause))

    async def _join_once(self, waiting: TimeBudget) -> Verdict:
        try:
            await self._unless_stopped(self._line.reach())
        except TransportError as fault:
            return Verdict(Meaning.REFUSED if fault.final else Meaning.LOST, fault.message)
        settings = self.settings
        training = settings.mode == "training"
        request = self._line.join(
            settings.mode, settings.turns if training else None, settings.map if training else None, Within(head=waiting.left)
        )
        return await self._unless_stopped(request, self._report_waiting)

    def _report_waiting(self, seconds: float) -> None:
        self._log.info("waiting for the game to begin", seconds=round(seconds))
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

    def _check_join(self, verdict: Verdict) -> None:
        """Leave where the server's answer is final."""
        if verdict.meaning is Meaning.UNKNOWN:
            _end(Reason.REFUSED, f"{self.address} does not know /api/{self.settings.mode}: {verdict.words}")
        if verdict.meaning is Meaning.MALFORMED:
            _end(Reason.PROTOCOL_ERROR, f"{self.address} does not speak the protocol: {verdict.words}")
        if verdict.meaning not in (Meaning.LOST, Meaning.BUSY, Meaning.GARBLED):
            _end(Reason.REFUSED, f"{self.address} refuses: {verdict.words}" if verdict.status else verdict.words)

    def _give_up_joining(self, verdict: Verdict) -> NoReturn:
        if verdict.status == 500:
            hint = " (the original server answers so to a map that it cannot read)" if self.settings.map else ""
            _end(Reason.REFUSED, f"{self.address} fails with status 500{hint}: {verdict.words}")
        _end(Reason.PROTOCOL_ERROR, f"{self.address} is not a Vindinium server: {verdict.words}")

    # ---- Orders ----

    async def _exchange(self, previous: Answer, received_at: float, direction: int) -> tuple[Answer, float]:
        """Send the order for the state `previous`, and return the next state with the moment it was received.

        As long as the server may not have the order it is repeated. Later, and once the server has said that it is not our
        turn, repeats are harmless, unless the server knows by the turn in the order that it is a repeat.
        """
        turn = previous.game.turn
        timeout = TimeBudget(self.settings.resync_timeout)
        backoff = Backoff(*ORDER_PAUSES, self._rng)
        faults = refusals = 0
        out_of_step = False
        while True:
            begun = time.monotonic()
            verdict = await self._order(direction, turn, out_of_step)
            if verdict.answer is not None and self._is_next(verdict.answer, previous):
                if faults:
                    self._in_step_again(verdict.answer, turn)
                return verdict.answer, verdict.received_at
            self._check_order(verdict, turn)
            faults += 1
            refusals += verdict.meaning is Meaning.REFUSED
            problem = (
                verdict.words or f"the server answered with turn {verdict.answer.game.turn if verdict.answer else '?'} again"
            )
            self._faulty(turn, problem)
            if verdict.status == 200:  # answers and questions may have got out of step on this connection
                await self._line.aclose()
            now = time.monotonic()
            accepted = verdict.meaning is Meaning.WAIT or (verdict.sent and now - begun > ACCEPTED_AFTER + self.network_seconds)
            out_of_step = out_of_step or accepted or now > received_at + self.time_limit
            if self._stop.is_set() and out_of_step:
                _end(Reason.INTERRUPTED, f"stopped as asked, on turn {turn}, whose answer was lost")
            if refusals >= ORDER_REPEATS:
                _end(Reason.REFUSED, f"{self.address} refuses the order of turn {turn}: {problem}")
            if timeout.exhausted:
                self._give_up_order(verdict, turn, problem, timeout.spent)
            if faults > 1 or verdict.meaning in (Meaning.WAIT, Meaning.BUSY):
                await timeout.pause(RESYNC_PAUSE if out_of_step else backoff.next(), self._pause)

    async def _order(self, direction: int, turn: int, out_of_step: bool) -> Verdict:
        limit = self.time_limit
        within = Within(connect=max(0.25, limit / 3), head=max(self.settings.move_timeout, 4 * limit), body=max(0.25, limit / 2))
        if out_of_step and not self._line.understands_turn:
            return await self._line.move(STAY, None, within)
        self._log.debug("order", direction=DIRECTIONS[direction])
        return await self._line.move(direction, turn, within)

    def _is_next(self, answer: Answer, previous: Answer) -> bool:
        """Whether a state is one that we have not seen: the same game, and later. A crash ends a game without a ply."""
        check_hero_id(answer)
        game, before = answer.game, previous.game
        if game.id != before.id or answer.hero.id != previous.hero.id:
            return False
        return game.turn > before.turn or (game.finished and game.turn == before.turn)

    def _check_order(self, verdict: Verdict, turn: int) -> None:
        """Leave where the server's answer is final."""
        if verdict.meaning is Meaning.TIMED_OUT:
            _end(Reason.TIMEOUT, f"the order of turn {turn} came too late, the game is forfeited: {verdict.words}")
        if verdict.meaning is Meaning.UNKNOWN:
            _end(Reason.UNKNOWN_GAME, f"{self.address} no longer knows this game or our place in it: {verdict.words}")
        if verdict.meaning is Meaning.OVER:
            _end(Reason.FINISHED, f"the game is finished; its last state was lost after turn {turn}: {verdict.words}")

    def _faulty(self, turn: int, problem: str) -> None:
        self._faults += 1
        self._log.warning("no use for the reply to an order", problem=problem)
        self._events.fault(turn, problem)

    def _in_step_again(self, answer: Answer, turn: int) -> None:
        lost = max(0, (answer.game.turn - turn - 1) // PLIES_PER_ROUND)
        self._lost_turns += lost
        self._log.info("in step with the server again", new_turn=answer.game.turn, lost_turns=lost)
        self._events.resynchronised(answer.game.turn, lost)

    def _give_up_order(self, verdict: Verdict, turn: int, problem: str, spent: float) -> NoReturn:
        malformed = verdict.meaning in (Meaning.MALFORMED, Meaning.GARBLED)
        reason = Reason.PROTOCOL_ERROR if malformed else Reason.UNREACHABLE
        _end(reason, f"gave the game up on turn {turn} after {spent:.0f} s: {problem}")

    # ---- Stopping ----

    async def _unless_stopped(self, work: Coroutine[Any, Any, _T], report: Callable[[float], None] | None = None) -> _T:
        """The result of `work`, or leave at once when asked to stop. `report` is told now and then how long it takes."""
        begun = time.monotonic()
        task = asyncio.ensure_future(work)
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            while not task.done():
                await asyncio.wait((task, stop), timeout=self.settings.report_every, return_when=asyncio.FIRST_COMPLETED)
                if self._stop.is_set() and not task.done():
                    _end(Reason.INTERRUPTED, "stopped as asked, before a game began")
                if report is not None and not task.done():
                    report(time.monotonic() - begun)
            return task.result()
        finally:
            for each in (task, stop):
                each.cancel()
            await asyncio.gather(task, stop, return_exceptions=True)


def _end(reason: Reason, message: str) -> NoReturn:
    raise _Ended(reason, message)
