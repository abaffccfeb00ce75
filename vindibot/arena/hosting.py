"""Games with programs that speak HTTP: the arena's own server plays the game, the others join it from inside.

For each game a server is started on a free port of this machine, and then every program, which finds the server's address
and its key in its environment and wherever its arguments have a placeholder. It has `start_s` to come up and join, in
either mode. Who does not come is crashed in its first turn; the game is played without it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sim.game import CRASH, copy_of
from vindibot.arena.journal import Journal
from vindibot.arena.programs import Program
from vindibot.arena.referee import GameRun, decided
from vindibot.arena.schedule import SEATS, GameTask, map_of_task
from vindibot.arena.seats import Forfeit, Seat
from vindibot.games import Reason
from vindibot.server import EmbeddedServer, Room, ServerSettings

#: Seconds between two looks at the programs.
LOOK = 0.02
#: Seconds that a program may live on after the game by itself, and after its launcher has ended well before it has joined.
FAREWELL = 0.3
LAUNCHED = 2.0
#: The server's limit for seats that are timed by themselves, in milliseconds: none.
UNTIMED = 86_400_000


def environment(server: str, key: str) -> dict[str, str]:
    """The variables in which a program finds where to play: ``VINDINIUM_SERVER`` and ``VINDINIUM_KEY``; ``VINDIBOT_KEY``
    for our own client, which takes the address as an option."""
    return {"VINDINIUM_SERVER": server, "VINDINIUM_KEY": key, "VINDIBOT_KEY": key}


class HostedGame:
    """One game. `seats` are those that are asked here, None for programs that speak HTTP. An observer of its room."""

    def __init__(self, task: GameTask, seats: Sequence[Seat | None], journal: Journal, logs: Sequence[Path | None]) -> None:
        self._task, self._seats, self._journal = task, list(seats), journal
        self._programs = {
            number: Program(task.seats[number].entrant, logs[number]) for number, seat in enumerate(seats) if seat is None
        }
        self._course = GameRun()
        self._map = map_of_task(task)
        self._room: Room | None = None
        self._over = asyncio.Event()
        self._asked_at = 0.0

    async def play(self) -> GameRun:
        """Play it to its end; every program is gone afterwards."""
        began = time.monotonic()
        settings = ServerSettings(time_limit_ms=UNTIMED, keys="registered")
        async with contextlib.AsyncExitStack() as stack:
            server = await stack.enter_async_context(EmbeddedServer(settings, (self,)))
            stack.callback(self._close)
            tasks = self._join(server, stack)
            watch = asyncio.create_task(self._watch())
            over = asyncio.create_task(self._over.wait())
            try:
                # A failure of ours in a task ends the game; its exception is raised.
                waiting: set[asyncio.Task[object]] = {over, watch, *tasks}
                while not over.done():
                    done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        task.result()
                await self._farewell()
            finally:
                for task in (over, watch, *tasks):
                    task.cancel()
                await asyncio.gather(over, watch, *tasks, return_exceptions=True)
        return self._told(time.monotonic() - began)

    def _told(self, seconds: float) -> GameRun:
        assert self._room is not None
        self._course.moves = list(self._room.moves)
        self._course.seconds = seconds
        return self._course

    # -- before the game --

    def _join(self, server: EmbeddedServer, stack: contextlib.AsyncExitStack) -> list[asyncio.Task[None]]:
        """Bring everybody to the table; what is returned are the tasks of those who are asked here."""
        task, tasks = self._task, []
        keys = [server.register(seat.entrant.label) for seat in task.seats]
        self._server, self._keys = server, keys
        self._match = server.lobby.arrange(self._map, keys, rounds=task.rounds, seed=task.seed & 0xFFFFFFFF)
        first = self._map.new_game(SEATS * task.rounds)
        for number, seat in enumerate(self._seats):
            try:
                with self._journal.asked(number):
                    if seat is None:
                        self._start(number)
                    else:
                        seat.start(first, number)
            except Forfeit as forfeit:
                self._course.seats[number].forfeit(forfeit)
        for number, seat in enumerate(self._seats):
            if seat is not None:
                pool = ThreadPoolExecutor(1, f"vindibot-seat-{number}")
                stack.callback(pool.shutdown, wait=False, cancel_futures=True)
                tasks.append(asyncio.create_task(self._play_here(number, seat, pool)))
        self._started = time.monotonic()
        return tasks

    def _start(self, number: int) -> None:
        host, _, port = self._server.url.removeprefix("http://").rpartition(":")
        key, name = self._keys[number], self._task.seats[number].entrant.label
        replace = {"server": self._server.url, "host": host, "port": port, "key": key, "name": name}
        self._programs[number].start(replace, environment(self._server.url, key))

    # -- who plays here --

    async def _play_here(self, number: int, seat: Seat, pool: ThreadPoolExecutor) -> None:
        """The moves of a seat that is asked here, one thread at a time."""
        loop, own = asyncio.get_running_loop(), self._course.seats[number]
        claim = await self._server.join(self._keys[number])
        await claim.waiter
        room = claim.room
        assert room is not None
        place = room.seats[number]
        limits = self._task.seats[number].entrant.limits
        while not room.finished and not room.crashed(place):
            if not own.outcome.finished:
                room.withdraw(place)
                return
            games, turn = copy_of(room.games), room.turn
            began = time.perf_counter()
            self._journal.asking(number)
            longest = limits.seconds(first=not own.times) + limits.grace_ms / 1000 + 1.0 if limits.nodes is None else None
            if not own.times and longest is not None:
                longest += limits.start_s
            try:
                move = await asyncio.wait_for(loop.run_in_executor(pool, seat.move, games), longest)
            except Forfeit as forfeit:
                own.forfeit(forfeit)
            except TimeoutError:
                own.forfeit(Forfeit(Reason.TIMEOUT, f"no answer in {longest:.1f} s"))
            else:
                own.times.append((time.perf_counter() - began) * 1000)
                if room.finished:
                    return
                await room.move(place, move, turn)

    # -- who plays over there --

    async def _watch(self) -> None:
        """Look after the programs: give the seats of those who do not come to nobody, take out those who have ended."""
        while True:
            for number, program in self._programs.items():
                own, code = self._course.seats[number], program.ended()
                if self._room is not None:
                    if code not in (None, 0) and own.outcome.finished and not self._room.finished:
                        own.forfeit(program.why_it_ended())
                        self._room.withdraw(self._room.seats[number])
                elif number not in self._match.claims:
                    await self._wait_for(number, program, code)
            await asyncio.sleep(LOOK)

    async def _wait_for(self, number: int, program: Program, code: int | None) -> None:
        """It has not joined yet."""
        own, waited = self._course.seats[number], time.monotonic() - self._started
        start = self._task.seats[number].entrant.limits.start_s
        if own.outcome.finished:
            if code not in (None, 0) or (code == 0 and waited > LAUNCHED):
                own.forfeit(program.why_it_ended())
            elif waited > start:
                words = program.last_words
                own.forfeit(Forfeit(Reason.STALL, f"it did not join in {start:g} s" + (f": {words}" if words else "")))
        if not own.outcome.finished:
            program.kill()
            await self._server.join(self._keys[number])

    async def _farewell(self) -> None:
        """Let the programs see the end."""
        for _ in range(int(FAREWELL / LOOK)):
            if all(program.ended() is not None for program in self._programs.values()):
                break
            await asyncio.sleep(LOOK)

    def _close(self) -> None:
        for program in self._programs.values():
            program.kill()
        for seat in self._seats:
            if seat is not None:
                seat.close()

    # -- what the room tells --

    def began(self, room: Room) -> None:
        """See `RoomObserver`: everybody is there, the first state goes out next."""
        self._room, self._asked_at = room, time.perf_counter()
        for number in self._programs:
            room.seats[number].time_limit_ms = self._task.seats[number].entrant.limits.first_ms
            if not self._course.seats[number].outcome.finished:
                room.withdraw(room.seats[number])

    def played(self, room: Room, move: int) -> None:
        """See `RoomObserver`."""
        now, number = time.perf_counter(), (len(room.moves) - 1) % SEATS
        own, place = self._course.seats[number], room.seats[number]
        self._journal.played(room.moves[-1])
        if number in self._programs:
            if move == CRASH:
                own.forfeit(self._lateness(number))
            elif not room.crashed(place):  # the hero of one who has crashed stays, ply after ply
                own.times.append((now - self._asked_at) * 1000)
                place.time_limit_ms = self._task.seats[number].entrant.limits.move_ms
        self._asked_at = now
        if self._task.adjudicate and number == SEATS - 1 and not room.finished and decided(room.games, len(self._map.mines)):
            self._over.set()

    def _lateness(self, number: int) -> Forfeit:
        """Why a program was crashed by the server."""
        program, limits = self._programs[number], self._task.seats[number].entrant.limits
        if program.ended() is not None:
            return program.why_it_ended()
        first = not self._course.seats[number].times
        return Forfeit(Reason.TIMEOUT, f"no answer in {limits.first_ms if first else limits.move_ms} ms")

    def ended(self, room: Room) -> None:
        """See `RoomObserver`."""
        self._over.set()


def play_hosted(task: GameTask, seats: Sequence[Seat | None], journal: Journal, logs: Sequence[Path | None]) -> GameRun:
    """Play a game in which some seats (None) are programs that speak HTTP, in an event loop of its own."""

    async def run() -> GameRun:
        return await HostedGame(task, seats, journal, logs).play()

    return asyncio.run(run())
