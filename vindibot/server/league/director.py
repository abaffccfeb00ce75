"""The director of a league: seats its bots as they come, starts each game when all of its bots wait, notes how it ended.

A bot asks for an arena game as ever; its key says that it belongs to the league, and it waits here until one of its games
can begin. Nothing has to be started in any order: of the games to be played, the first whose bots are all waiting begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog

from vindibot.base import UsageError, VindibotError
from vindibot.server.league.fixtures import Fixture, FixtureResult
from vindibot.server.league.league import League
from vindibot.server.lobby import RANDOM_BOT, Lobby
from vindibot.server.match import Claim, Match, MatchResult
from vindibot.server.refusal import Refusal, game_error
from vindibot.server.users import User

#: Seconds between two looks at who is missing.
LOOK_SECONDS = 1.0
#: Seconds in which a game whose bots were all there must have begun; else one has just gone, and the others wait again.
BEGIN_SECONDS = 5.0
#: Clients of one bot that may wait at once.
MAX_CLAIMS = 8
#: Keys that were found to be none of ours, remembered so that they cost nothing the next time.
MAX_STRANGERS = 10_000

OVER = "The league is over"

_log = structlog.get_logger("vindibot.league")


@dataclass
class Presence:
    """What is known of a bot: its users (one, unless the store was changed), its open requests, when all its heroes' clients
    were last there (in the loop's time)."""

    users: set[str] = field(default_factory=set)
    claims: list[Claim] = field(default_factory=list)
    seen: float = 0.0
    playing: int = 0


class Director:
    """Plays one league in a lobby. `start` and `close` it in the lobby's event loop."""

    def __init__(self, league: League, lobby: Lobby) -> None:
        self.league = league
        self.running: dict[int, Match] = {}  # by the identity of the fixture
        self._lobby = lobby
        self._loop = asyncio.get_running_loop()
        self._bots = [Presence() for _ in league.names]
        self._by_user: dict[str, int] = {}
        self._keys: dict[str, int | None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._look: asyncio.Handle | None = None
        self._patrol: asyncio.Task[None] | None = None
        self._saves: set[asyncio.Task[None]] = set()
        self._saving = asyncio.Lock()
        self._dirty = False

    def start(self) -> None:
        """Open the doors."""
        now = self._loop.time()
        for bot in self._bots:
            bot.seen = now
        self._lobby.desks.insert(len(self._lobby.desks) if self.league.over else 0, self)
        self._patrol = self._loop.create_task(self._keep_looking())

    async def close(self) -> None:
        """Stop; games that are running count as not begun. The file is up to date afterwards."""
        if self in self._lobby.desks:
            self._lobby.desks.remove(self)
        tasks = [task for task in (self._patrol, *self._tasks) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._look is not None:
            self._look.cancel()
        self._send_home(Refusal(503, "Vindinium - The server is closing"))
        await asyncio.gather(*self._saves)
        await self._save()

    # ---- The desk ----

    async def admit(self, key: str) -> str | None:
        """The name of the bot of this league that has this key, None if it is nobody's."""
        if key not in self._keys:
            if len(self._keys) >= MAX_STRANGERS:
                self._keys.clear()
            self._keys[key] = await asyncio.to_thread(self.league.member, key)
        number = self._keys[key]
        return None if number is None else self.league.names[number]

    def meet(self, key: str, user: User) -> None:
        """This user is the bot that `admit` has named."""
        number = self._keys.get(key)
        if number is not None:
            self._by_user[user.id] = number
            self._bots[number].users.add(user.id)

    def seat(self, claim: Claim) -> bool:
        """Take a client that asks for an arena game, if it is one of ours. Raises `Refusal`, also when the league is over."""
        number = self._by_user.get(claim.user.id)
        if number is None:
            return False
        if self.league.over:
            raise game_error(OVER)
        claims = self._bots[number].claims
        if len(claims) >= MAX_CLAIMS:
            raise game_error("Too many clients of this bot are waiting already")
        claims.append(claim)
        self._look_soon()
        return True

    def left(self, claim: Claim) -> None:
        """This client has gone."""
        number = self._by_user.get(claim.user.id)
        if number is not None and claim in self._bots[number].claims:
            self._note_seen()
            self._bots[number].claims.remove(claim)

    # ---- What one can see ----

    def waiting(self) -> dict[str, int]:
        """How many clients of each bot wait, of those who have any."""
        return {name: len(bot.claims) for name, bot in zip(self.league.names, self._bots, strict=True) if bot.claims}

    def missing(self) -> list[str]:
        """The bots that have games to play and are neither waiting nor playing."""
        needed = {number for fixture in self.league.pending() for number in fixture.entrants}
        bots = self._bots
        return [self.league.names[number] for number in sorted(needed) if not bots[number].claims and not bots[number].playing]

    def room_of(self, fixture: Fixture) -> str:
        """The id of the game that a fixture is being played in, "" if it is not."""
        match = self.running.get(id(fixture))
        return match.room.id if match is not None and match.room is not None else ""

    # ---- Starting games ----

    def set_state(self, state: str) -> None:
        """Pause, go on ("running") or end ("over"). What is running is played to its end. Raises `UsageError`."""
        if self.league.over:
            raise UsageError("the league is over")
        if state == "over":
            self.league.end()
            self._finish()
        elif state in ("running", "paused"):
            self.league.data.state = "running" if state == "running" else "paused"
        self._save_soon()
        self._look_soon()

    def _look_soon(self) -> None:
        # Two rounds of the loop and more: `Lobby` gives the same grace to who has just gone.
        if self._look is None:
            self._look = self._loop.call_soon(self._start_what_can_begin)

    def _start_what_can_begin(self) -> None:
        self._look = None
        self._note_seen()
        if self.league.data.state != "running":
            return
        free = {number: len(bot.claims) for number, bot in enumerate(self._bots) if bot.claims}
        for fixture in self.league.pending() if free else ():
            if len(self.running) >= self.league.settings.parallel:
                break
            if id(fixture) not in self.running and all(free.get(n, 0) >= fixture.seats_of(n) for n in fixture.entrants):
                self._begin(fixture)
                for number in fixture.entrants:
                    free[number] -= fixture.seats_of(number)

    def _begin(self, fixture: Fixture) -> None:
        settings = self.league.settings
        claims: list[Claim] = []
        seats: list[User | str] = []
        for number in fixture.seats:
            if number is None:
                seats.append(RANDOM_BOT)
                continue
            claim = self._bots[number].claims.pop(0)
            claims.append(claim)
            seats.append(claim.user)
        try:
            match = self._lobby.arrange(
                fixture.map,
                seats,
                rounds=settings.rounds,
                seed=fixture.seed,
                time_limit_ms=settings.time_limit_ms,
                pace=settings.pace,
                claims=claims,
            )
        except UsageError as problem:  # a map that cannot be generated
            self._take_back(claims)
            self.league.data.state = "paused"
            _log.error("the league is paused", league=self.league.name, reason=problem.message)
            return
        self.running[id(fixture)] = match
        for number in fixture.entrants:
            self._bots[number].playing += 1
        task = self._loop.create_task(self._follow(fixture, match))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _take_back(self, claims: Sequence[Claim]) -> None:
        for claim in claims:
            self._bots[self._by_user[claim.user.id]].claims.insert(0, claim)

    async def _follow(self, fixture: Fixture, match: Match) -> None:
        """Wait for the end of a game that was arranged."""
        result: MatchResult | None = None
        try:
            async with asyncio.timeout(BEGIN_SECONDS):
                await match.begun()
            result = await match.ended()
        except TimeoutError:
            pass
        finally:
            self._take_back(self._lobby.withdraw(match))  # those who still wait, if it did not begin
            del self.running[id(fixture)]
            now = self._loop.time()
            for number in fixture.entrants:
                self._bots[number].playing -= 1
                self._bots[number].seen = now
        if result is not None:
            self._note(fixture, result)
        self._look_soon()

    def _note(self, fixture: Fixture, result: MatchResult) -> None:
        fixture.attempts += 1
        late = any(result.crashed[seat] for seat, owner in enumerate(fixture.seats) if owner is not None)
        if late and fixture.attempts <= self.league.settings.reruns:
            _log.info("somebody timed out: the game is played again", league=self.league.name, game=result.game_id)
        else:
            self._decide(fixture, FixtureResult(kind="played", gold=result.gold, crashed=result.crashed, game_id=result.game_id))
        self._save_soon()

    def _decide(self, fixture: Fixture, result: FixtureResult) -> None:
        self.league.decide(fixture, result)
        self._save_soon()
        if self.league.over:
            self._finish()

    def _finish(self) -> None:
        _log.info("the league is over", league=self.league.name)
        self._lobby.desks.remove(self)
        self._lobby.desks.append(self)  # who plays in another league is sent there first
        self._send_home(game_error(OVER))

    def _send_home(self, words: Refusal) -> None:
        for bot in self._bots:
            for claim in bot.claims:
                if not claim.waiter.done():
                    claim.waiter.set_result(words)
            bot.claims.clear()

    # ---- Those who do not come ----

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self._start_what_can_begin()
            self._decide_without_the_absent()

    def _heroes(self) -> int:
        return 2 if self.league.settings.table == "duel" else 1

    def _note_seen(self) -> None:
        now, needed = self._loop.time(), self._heroes()
        for bot in self._bots:
            if bot.playing or len(bot.claims) >= needed:
                bot.seen = now

    def _decide_without_the_absent(self) -> None:
        """When somebody waits, nothing runs and nothing can begin: the earliest day's games of those who have been away for
        longer than the league's patience are lost for them."""
        if self.running or self.league.data.state != "running" or not any(bot.claims for bot in self._bots):
            return
        now, timeout = self._loop.time(), self.league.settings.absence_timeout_s
        pending = self.league.pending()
        for fixture in [fixture for fixture in pending if fixture.day == pending[0].day]:
            absent = tuple(number for number in fixture.entrants if now - self._bots[number].seen >= timeout)
            if absent:
                names = [self.league.names[number] for number in absent]
                _log.info("a game is decided without those who did not come", league=self.league.name, absent=names)
                self._decide(fixture, FixtureResult(kind="absent", absent=absent))
        self._look_soon()

    # ---- Keeping ----

    def _save_soon(self) -> None:
        self._dirty = True
        task = self._loop.create_task(self._save())
        self._saves.add(task)
        task.add_done_callback(self._saves.discard)

    async def _save(self) -> None:
        async with self._saving:
            if not self._dirty:
                return
            self._dirty = False
            try:
                await asyncio.to_thread(self.league.save, self.league.text())
            except VindibotError as problem:
                self._dirty = True
                _log.error("the league goes on, but is not kept", league=self.league.name, reason=problem.message)
