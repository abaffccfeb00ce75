"""The director of a league: it starts each game as soon as all bots of the game wait, and stores the result.

A bot of the league asks for an arena game as usual. Since the bot's key belongs to the league, the bot waits in the director
until one of its league games can begin. Before the league is started, bots join and wait, but no game begins. The order in which
bots join does not matter. Among the undecided games whose bots all wait, the game that comes first in the league's schedule
begins first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from vindibot.base.errors import UsageError, VindibotError
from vindibot.league.fillers import Fillers
from vindibot.league.league import League, State
from vindibot.league.standings import Fixture, FixtureResult
from vindibot.server.lobby import RANDOM_BOT, Lobby
from vindibot.server.match import Claim, Match, MatchResult
from vindibot.server.refusal import Refusal, closing_refusal, game_error
from vindibot.server.users import User

#: Seconds between two checks for absent bots.
CHECK_SECONDS = 1.0
#: Seconds within which a game must begin once all its bots wait. If the game does not begin, one of its bots has disconnected,
#: and the other bots wait again.
BEGIN_SECONDS = 5.0
#: Largest number of clients of one bot that may wait at the same time.
MAX_CLAIMS = 8

OVER = "The league is over"

_log = structlog.get_logger("vindibot.league")


@dataclass
class Presence:
    """The presence of one bot: `claims` are its waiting clients, and `playing` is the number of its running games.

    `heroes` is the number of its heroes in a game. A bot is present if it plays, or if it has as many waiting clients as heroes.
    `last_seen` is the event loop's time at which the bot was last present. If the match day, or the league after a pause, began
    later, `last_seen` is the time of this beginning.
    """

    heroes: int
    claims: list[Claim] = field(default_factory=list)
    last_seen: float = 0.0
    playing: int = 0

    @property
    def present(self) -> bool:
        """Whether the bot plays, or can begin to play."""
        return self.playing > 0 or len(self.claims) >= self.heroes


class Director:
    """Plays one league in a lobby, as a `Matchmaker`. Call `start` and `close` in the lobby's event loop."""

    def __init__(self, league: League, lobby: Lobby) -> None:
        self.league = league
        self.running: dict[int, Match] = {}  # by the id() of the fixture
        self.fillers = Fillers(len(league.settings.fillers))
        self._lobby = lobby
        self._loop = asyncio.get_running_loop()
        self._bots = [Presence(2 if league.settings.table == "duel" else 1) for _ in league.names]
        self._clock_day = 0  # the match day for which the clock of absence runs
        self._by_user: dict[str, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._next_check: asyncio.Handle | None = None
        self._saves: set[asyncio.Task[None]] = set()
        self._save_lock = asyncio.Lock()
        self._dirty = False

    def start(self) -> None:
        """Begin to accept clients."""
        self._restart_clock()
        self._take_place()
        self._tasks.add(self._loop.create_task(self._keep_checking()))

    def _take_place(self) -> None:
        """Take this league's place among the matchmakers of the lobby.

        A league that is over has the last place. So a bot that is also in another league plays there first.
        """
        if self in self._lobby.matchmakers:
            self._lobby.matchmakers.remove(self)
        self._lobby.matchmakers.insert(len(self._lobby.matchmakers) if self.league.over else 0, self)

    async def close(self) -> None:
        """Stop, and store the league. Running games get no result, and are played again after a restart."""
        if self in self._lobby.matchmakers:
            self._lobby.matchmakers.remove(self)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._next_check is not None:
            self._next_check.cancel()
        self._refuse_all(closing_refusal())
        await asyncio.gather(*self._saves)
        await self._save()

    # ---- The matchmaker ----

    def find_bot(self, key: str) -> str | None:
        """See `Matchmaker`."""
        number = self.league.member(key)
        return None if number is None else self.league.names[number]

    def bind(self, key: str, user: User) -> None:
        """See `Matchmaker`."""
        number = self.league.member(key)
        if number is not None:
            self._by_user[user.id] = number

    def number_of(self, user: User) -> int | None:
        """Return the index of a user's bot in the league, or None. A user is known once its bot has joined."""
        return self._by_user.get(user.id)

    def accept(self, claim: Claim) -> bool:
        """Let a client wait here if its bot belongs to this league. Return whether it belongs to this league.

        Raises `Refusal` if the league is over, or if too many clients of the bot wait already.
        """
        number = self._by_user.get(claim.user.id)
        if number is None:
            return self._accept_filler(claim)
        if self.league.over:
            raise game_error(OVER)
        claims = self._bots[number].claims
        if len(claims) >= MAX_CLAIMS:
            raise game_error("Too many clients of this bot are waiting already")
        claims.append(claim)
        self._check_soon()
        return True

    def _accept_filler(self, claim: Claim) -> bool:
        if not self.fillers.has(claim.user):
            return False
        if self.league.over:
            raise game_error(OVER)
        self.fillers.claims.append(claim)
        self.fillers.changed = self._loop.time()
        self._check_soon()
        return True

    def release(self, claim: Claim) -> None:
        """See `Matchmaker`."""
        if claim in self.fillers.claims:
            self.fillers.claims.remove(claim)
        number = self._by_user.get(claim.user.id)
        if number is not None and claim in self._bots[number].claims:
            self._update_last_seen()
            self._bots[number].claims.remove(claim)

    # ---- State ----

    def waiting(self) -> dict[str, int]:
        """Return the number of waiting clients per bot, by the bot's name. Bots without a waiting client are left out."""
        return {name: len(bot.claims) for name, bot in zip(self.league.names, self._bots, strict=True) if bot.claims}

    def missing(self) -> list[str]:
        """Return the names of the bots that still have games to play, but are absent: they neither play nor can begin a game."""
        needed = {number for fixture in self.league.pending() for number in fixture.entrants}
        return [self.league.names[number] for number in sorted(needed) if not self._bots[number].present]

    def present(self) -> list[str]:
        """Return the names of the bots that play or can begin a game, in the order of the roster."""
        return [name for name, bot in zip(self.league.names, self._bots, strict=True) if bot.present]

    def reversible(self) -> dict[str, int]:
        """Return the number of games that `undo_absences` would let each bot play, by the bot's name. Other bots are left out."""
        games = self.league.reversible(self.running)
        numbers = [number for fixture in games if fixture.result is not None for number in fixture.result.absent]
        return {self.league.names[number]: numbers.count(number) for number in sorted(set(numbers))}

    def room_id(self, fixture: Fixture) -> str:
        """Return the id of the running game of this fixture, "" if the game does not run."""
        match = self.running.get(id(fixture))
        return match.room.id if match is not None and match.room is not None else ""

    # ---- Starting games ----

    def set_state(self, state: State) -> None:
        """Set the state of the league: "running", "paused" or "over". Running games are played to their end.

        If games may begin again, the clock of absence begins anew. Raises `UsageError` if the league is over already.
        """
        if self.league.over:
            raise UsageError("the league is over")
        if state == self.league.state:
            return
        self.league.state = state
        _log.info(f"the league is {state}", league=self.league.name)
        if self.league.over:
            self._finish()
        self._restart_clock()
        self._save_soon()
        self._check_soon()

    def undo_absences(self, bot: str | None = None) -> None:
        """Let the games be played that were decided against absent bots, see `League.undo_absences`.

        The clock of absence begins anew. Raises `UsageError` if there is nothing to undo.
        """
        games = self.league.undo_absences(bot, self.running)
        _log.info("games are no longer decided against absent bots", league=self.league.name, games=len(games))
        self._take_place()
        self._restart_clock()
        self._save_soon()
        self._check_soon()

    def _restart_clock(self) -> None:
        self._clock_day = self.league.day
        self.fillers.changed = self._loop.time()
        for bot in self._bots:
            bot.last_seen = self._loop.time()

    def _check_soon(self) -> None:
        if self._next_check is None:
            self._next_check = self._loop.call_soon(self._start_ready_games)

    def _start_ready_games(self) -> None:
        self._next_check = None
        self._update_last_seen()
        if self.league.state != "running":
            return
        free = {number: len(bot.claims) for number, bot in enumerate(self._bots) if bot.claims}
        for fixture in self.league.pending() if free else ():
            if len(self.running) >= self.league.settings.parallel:
                break
            ready = all(free.get(number, 0) >= fixture.heroes_of(number) for number in fixture.entrants)
            if id(fixture) not in self.running and ready and self._has_fillers(fixture.seats.count(None)):
                self._begin(fixture)
                for number in fixture.entrants:
                    free[number] -= fixture.heroes_of(number)

    def _has_fillers(self, count: int) -> bool:
        """Return whether a game that needs `count` fillers may begin: with fillers, or with random bots if there are none."""
        return self.fillers.ready(count) or not self.fillers.expected(self._loop.time())

    def _begin(self, fixture: Fixture, absent: Sequence[int] = ()) -> None:
        """Begin a game. Fillers take the free seats and those of the entrants in `absent`, random bots if fillers are missing."""
        settings = self.league.settings
        filled = [number is None or number in absent for number in fixture.seats]
        fillers = iter(self.fillers.take(sum(filled)))
        seats = [
            next(fillers, None) if fill or number is None else self._bots[number].claims.pop(0)
            for number, fill in zip(fixture.seats, filled, strict=True)
        ]
        claims = [claim for claim in seats if claim is not None]
        try:
            match = self._lobby.arrange(
                fixture.map,
                [RANDOM_BOT if claim is None else claim.user for claim in seats],
                rounds=settings.rounds,
                seed=fixture.seed,
                time_limit_ms=settings.time_limit_ms,
                first_limit_ms=settings.first_limit_ms,
                pace=settings.pace,
                claims=claims,
            )
        except UsageError as problem:  # a map that cannot be generated
            self._take_back(claims)
            self.league.state = "paused"
            _log.error("the league is paused", league=self.league.name, reason=problem.message)
            return
        self.running[id(fixture)] = match
        present = [number for number in fixture.entrants if number not in absent]
        for number in present:
            self._bots[number].playing += 1
        its_fillers = sum(self.fillers.has(claim.user) for claim in claims)
        self.fillers.playing += its_fillers
        task = self._loop.create_task(self._follow(fixture, match, present, its_fillers))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _take_back(self, claims: Sequence[Claim]) -> None:
        for claim in claims:
            fills = self.fillers.has(claim.user)
            (self.fillers.claims if fills else self._bots[self._by_user[claim.user.id]].claims).insert(0, claim)

    async def _follow(self, fixture: Fixture, match: Match, present: Sequence[int], fillers: int) -> None:
        """Wait for the end of a game, and store its result. If the game does not begin in time, let its clients wait again.

        `present` are the entrants that play in the game, and `fillers` is the number of its fillers.
        """
        result: MatchResult | None = None
        try:
            async with asyncio.timeout(BEGIN_SECONDS):
                await match.begun()
            result = await match.ended()
        except TimeoutError:
            pass
        finally:
            self._take_back(self._lobby.withdraw(match))  # if the game has not begun, some of its clients may still wait
            del self.running[id(fixture)]
            now = self._loop.time()
            for number in present:
                self._bots[number].playing -= 1
                self._bots[number].last_seen = now
            if fillers:
                self.fillers.playing -= fillers
                self.fillers.changed = now
        if result is not None:
            self._note_result(fixture, result, tuple(number for number in fixture.entrants if number not in present))
        self._check_soon()

    def _note_result(self, fixture: Fixture, result: MatchResult, absent: tuple[int, ...]) -> None:
        fixture.attempts += 1
        owners = [None if number in absent else number for number in fixture.seats]
        seats = [(number, seat) for seat, number in enumerate(owners) if number is not None and result.crashed[seat]]
        again = bool(seats) and fixture.attempts <= self.league.settings.reruns
        if seats:
            names = sorted({self.league.names[number] for number, _ in seats})
            following = "is played again" if again else "counts"
            _log.info(f"bots timed out: the game {following}", league=self.league.name, bots=names, game=result.game_id)
        if not again:
            played = FixtureResult(kind="played", gold=result.gold, crashed=result.crashed, absent=absent, game_id=result.game_id)
            self._decide(fixture, played)
        self._save_soon()

    def _decide(self, fixture: Fixture, result: FixtureResult) -> None:
        self.league.decide(fixture, result)
        self._save_soon()
        if self.league.over:
            _log.info("the league is over", league=self.league.name)
            self._finish()
        elif self.league.day != self._clock_day:
            self._restart_clock()

    def _finish(self) -> None:
        self._take_place()
        self._refuse_all(game_error(OVER))

    def _refuse_all(self, refusal: Refusal) -> None:
        for claims in (self.fillers.claims, *(bot.claims for bot in self._bots)):
            for claim in claims:
                if not claim.waiter.done():
                    claim.waiter.set_result(refusal)
            claims.clear()

    # ---- Absent bots ----

    async def _keep_checking(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            self.check()

    def check(self) -> None:
        """Start the league if its time has come, and decide games against bots that have been absent for too long."""
        start = self.league.settings.start
        if self.league.state == "waiting" and start is not None and start <= datetime.now(start.tzinfo):
            self.set_state("running")
        self._start_ready_games()
        self._forfeit_absent()

    def _update_last_seen(self) -> None:
        for bot in self._bots:
            if bot.present:
                bot.last_seen = self._loop.time()

    def _forfeit_absent(self) -> None:
        """Let each bot that has been absent for at least `absence_timeout_s` lose its undecided games of the earliest day.

        The method does this only if at least one bot waits, and no game runs or can begin. If the league has fillers, a game with
        at least one present bot is played: fillers play for the absent bots.
        """
        if self.running or self.league.state != "running" or not any(bot.claims for bot in self._bots):
            return
        now, timeout = self._loop.time(), self.league.settings.absence_timeout_s
        pending = self.league.pending()
        for fixture in [fixture for fixture in pending if fixture.day == pending[0].day]:
            absent = tuple(number for number in fixture.entrants if now - self._bots[number].last_seen >= timeout)
            needed = sum(number is None or number in absent for number in fixture.seats)
            if absent and len(absent) < len(fixture.entrants) and (self.fillers.ready(needed) or self.fillers.expected(now)):
                self._begin_without(fixture, absent)
            elif absent:
                names = [self.league.names[number] for number in absent]
                _log.info("a game is decided against absent bots", league=self.league.name, absent=names)
                self._decide(fixture, FixtureResult(kind="absent", absent=absent))
        self._check_soon()

    def _begin_without(self, fixture: Fixture, absent: Sequence[int]) -> None:
        """Begin a game without the entrants in `absent`, as soon as the other entrants and enough fillers wait."""
        needed = sum(number is None or number in absent for number in fixture.seats)
        others = [number for number in fixture.entrants if number not in absent]
        ready = all(len(self._bots[number].claims) >= fixture.heroes_of(number) for number in others)
        if ready and self.fillers.ready(needed) and len(self.running) < self.league.settings.parallel:
            self._begin(fixture, absent)

    # ---- The file ----

    def _save_soon(self) -> None:
        self._dirty = True
        task = self._loop.create_task(self._save())
        self._saves.add(task)
        task.add_done_callback(self._saves.discard)

    async def store(self) -> None:
        """Write the state of the league to its file now. Raises `VindibotError` if the file cannot be written."""
        await self._save()
        if self._dirty:
            raise VindibotError("the league goes on with the new state, but it cannot be stored: see the log of the server")

    async def _save(self) -> None:
        async with self._save_lock:
            if not self._dirty:
                return
            self._dirty = False
            try:
                await asyncio.to_thread(self.league.save, self.league.text())
            except VindibotError as problem:
                self._dirty = True
                _log.error("the league goes on, but cannot be stored", league=self.league.name, reason=problem.message)
