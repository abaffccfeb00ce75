"""Games with programs that speak HTTP.

For each game the arena starts a server on a free port of this machine, and then each program. The other bots join the game from
within the arena's process. A program gets the server's address and its own key in its environment or in place of
placeholders in its arguments. A program has `start_s` seconds to start and join. If it does not join, its hero crashes in its
first turn, and the other bots play on.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sim.game import CRASH, SEATS, copy_of
from vindibot.arena.referee import GameRun, decided
from vindibot.arena.schedule import GameTask, map_of_task
from vindibot.arena.seats.programs import Program
from vindibot.arena.seats.seat import Forfeit, Seat, TurnNotes
from vindibot.games.notes import STANDARD_ERROR
from vindibot.games.outcome import Reason
from vindibot.server.game_server import GameServer
from vindibot.server.room import Room
from vindibot.server.settings import ServerSettings

#: Seconds between two checks of the programs.
CHECK_SECONDS = 0.02
#: Seconds that a program may still run after the game.
EXIT_SECONDS = 0.3
#: Seconds that a program has to join if the process that the arena started has already ended with exit code 0. Such a process is
#: a launcher: the program itself runs in another process.
LAUNCHER_SECONDS = 2.0
#: The two spellings of the variable that lists addresses without a proxy, and the addresses of this machine.
NO_PROXY, LOOPBACK = ("no_proxy", "NO_PROXY"), "127.0.0.1,localhost"
#: The server's time limit in milliseconds for a seat whose time the arena itself limits: a day.
NO_LIMIT_MS = 86_400_000


def environment(server: str, key: str) -> dict[str, str]:
    """Return the environment variables that tell a program where to play: ``VINDINIUM_SERVER`` and ``VINDINIUM_KEY``.

    `server` is the address of the server, `key` is the program's key. ``VINDIBOT_KEY`` is for our own client, which takes the
    server's address as an option. A proxy cannot reach this machine's own address, so ``no_proxy`` lists this address first.
    """
    values = [os.environ.get(name, "") for name in NO_PROXY]
    listed = [",".join(filter(None, (LOOPBACK, value or other))) for value, other in zip(values, values[::-1], strict=True)]
    return {"VINDINIUM_SERVER": server, "VINDINIUM_KEY": key, "VINDIBOT_KEY": key, **dict(zip(NO_PROXY, listed, strict=True))}


class HostedGame:
    """One game on a server of its own. This class observes the room of the game, which is the server's object for one game.

    `seats` has a seat for each bot that is asked in this process, and None for each program that speaks HTTP. `logs` has the file
    for the output of each program, None for no file. The game is stopped at the monotonic time `deadline`.
    """

    exit_seconds = EXIT_SECONDS

    def __init__(self, task: GameTask, seats: Sequence[Seat | None], logs: Sequence[Path | None], deadline: float) -> None:
        self._task, self._seats, self._deadline = task, seats, deadline
        self._programs = {
            number: Program(task.seats[number].entrant, logs[number]) for number, seat in enumerate(seats) if seat is None
        }
        self._limits = [seat.entrant.limits for seat in task.seats]
        self._run = GameRun(moves=list(task.opening_moves))
        self._map = map_of_task(task)
        self._first = task.first() if task.opening is None else task.opening.last()
        self._room: Room | None = None
        self._over = asyncio.Event()
        self._asked_at = 0.0

    async def play(self) -> GameRun:
        """Play the game to its end, then kill all programs. Return the game with its moves."""
        began = time.monotonic()
        async with self._new_server() as server, contextlib.AsyncExitStack() as stack:
            stack.callback(self._close)
            self._start(server)
            # If a task fails because of an error in the arena itself, the group raises the error, and the game ends.
            group = await stack.enter_async_context(asyncio.TaskGroup())
            tasks = [group.create_task(self._watch_programs())]
            for number, seat in enumerate(self._seats):
                if seat is not None:
                    pool = ThreadPoolExecutor(1, f"vindibot-seat-{number}")
                    stack.callback(pool.shutdown, cancel_futures=True)
                    tasks.append(group.create_task(self._play_seat(number, seat, pool)))
            try:
                async with asyncio.timeout(self._deadline - time.monotonic()):
                    await self._over.wait()
            except TimeoutError:
                self._run.stop(self._mover(len(self._room.moves)) if self._room is not None else 0, self._task.wall_s)
            if self._room is not None:
                self._run.moves += self._room.moves
                if self._room.finished:  # if not, the arena stops the game here: its programs play no further
                    await self._let_programs_end()
            for task in tasks:
                task.cancel()
        self._run.seconds = time.monotonic() - began
        return self._run

    # -- before the game --

    def _new_server(self) -> GameServer:
        """Return the server of the game, which does not listen yet."""
        return GameServer(ServerSettings(time_limit_ms=NO_LIMIT_MS, keys="registered"), (self,))

    def _start(self, server: GameServer) -> None:
        """Reserve the four seats on the server, and start the seats and the programs."""
        task, self._server = self._task, server
        self._keys = [server.register(seat.entrant.label) for seat in task.seats]
        seed = task.seed & 0xFFFFFFFF
        self._match = server.lobby.arrange(self._first, self._keys, seed=seed)
        for number, seat in enumerate(self._seats):
            try:
                if seat is None:
                    self._start_program(number)
                else:
                    seat.start(self._first, number)
            except Forfeit as forfeit:
                self._run.seats[number].forfeit(forfeit)
        self._started = time.monotonic()

    def _start_program(self, number: int) -> None:
        server, key, name = self._server.url, self._keys[number], self._task.seats[number].entrant.label
        host, _, port = server.removeprefix("http://").rpartition(":")
        replace = {"server": server, "host": host, "port": port, "key": key, "name": name}
        self._programs[number].start(replace, environment(server, key))

    # -- the seats that are asked here --

    async def _play_seat(self, number: int, seat: Seat, pool: ThreadPoolExecutor) -> None:
        """Join the game for a seat, and send its moves. The seat is asked in the only thread of `pool`."""
        loop, own = asyncio.get_running_loop(), self._run.seats[number]
        claim = await self._server.join(self._keys[number])
        await claim.waiter
        room = claim.room
        assert room is not None
        room_seat = room.seats[number]
        while not room.finished and not room.crashed(room_seat):
            if not own.outcome.finished:
                room.withdraw(room_seat)
                return
            games, turn = copy_of(room.games), room.turn
            began = time.perf_counter()
            try:
                move = await loop.run_in_executor(pool, seat.move, games)
            except Forfeit as forfeit:
                own.forfeit(forfeit)
            else:
                own.times.append((time.perf_counter() - began) * 1000)
                own.add(seat.take_notes())
                if room.finished:
                    return
                await room.move(room_seat, move, turn)

    # -- the programs --

    async def _watch_programs(self) -> None:
        """Watch the programs until the task is cancelled.

        If a program does not join, join in its place, so that the game begins. If a program ends during the game, let its hero
        crash.
        """
        while True:
            for number, program in list(self._programs.items()):
                own, code = self._run.seats[number], program.exit_code()
                if self._room is not None:
                    if code not in (None, 0) and own.outcome.finished and not self._room.finished:
                        own.forfeit(program.why_it_ended())
                        self._room.withdraw(self._room.seats[number])
                elif number not in self._match.claims:
                    await self._check_joining(number, program, code)
            await asyncio.sleep(CHECK_SECONDS)

    async def _check_joining(self, number: int, program: Program, code: int | None) -> None:
        """Check a program that has not joined yet. `code` is its exit code, None while it runs.

        If the program has ended, or if its time to join is over, let it forfeit, and join in its place.
        """
        own, waited = self._run.seats[number], time.monotonic() - self._started
        start = self._limits[number].start_s
        if own.outcome.finished:
            if code not in (None, 0) or (code == 0 and waited > LAUNCHER_SECONDS):
                own.forfeit(program.why_it_ended())
            elif waited > start:
                error = program.last_words
                own.forfeit(Forfeit(Reason.STALL, f"it did not join in {start:g} s" + (f": {error}" if error else "")))
        if not own.outcome.finished:
            program.kill()
            await self._server.join(self._keys[number])

    async def _let_programs_end(self) -> None:
        """Wait until all programs have ended, but at most `exit_seconds`."""
        for _ in range(int(self.exit_seconds / CHECK_SECONDS)):
            if all(program.exit_code() is not None for program in self._programs.values()):
                break
            await asyncio.sleep(CHECK_SECONDS)

    def _close(self) -> None:
        for number, program in self._programs.items():
            program.kill()
            self._add_output(number, len(self._room.moves) if self._room is not None else 0)
        for seat, own in zip(self._seats, self._run.seats, strict=True):
            if seat is not None:
                seat.close()
                own.add(seat.take_notes())

    def _add_output(self, number: int, ply: int) -> None:
        """Take the output of a program since its last turn. It belongs to its turn at or before a ply of the room."""
        notes = self._programs[number].take_notes()
        if notes:
            turn = int(self._first["turn"].item(0)) + ply
            self._run.seats[number].add([TurnNotes(max(0, turn - (turn - number) % SEATS), STANDARD_ERROR, notes)])

    # -- events of the room --

    def began(self, room: Room) -> None:
        """Set the time limits of the programs. If a program has forfeited already, let its hero crash. See `RoomObserver`."""
        self._room, self._asked_at = room, time.perf_counter()
        for number in self._programs:
            room.seats[number].time_limit_ms = self._limits[number].first_ms
            if not self._run.seats[number].outcome.finished:
                room.withdraw(room.seats[number])

    def played(self, room: Room, move: int) -> None:
        """Store a move and its time. If the hero of a program has crashed, store the forfeit. See `RoomObserver`.

        Also end the game early if the task asks for this and no place can change any more.
        """
        now, number = time.perf_counter(), self._mover(len(room.moves) - 1)
        own, room_seat = self._run.seats[number], room.seats[number]
        if number in self._programs:
            self._add_output(number, len(room.moves) - 1)
            if move == CRASH:
                own.forfeit(self._why_crashed(number))
            elif not room.crashed(room_seat):  # for a crashed hero the room itself plays Stay
                own.times.append((now - self._asked_at) * 1000)
                room_seat.time_limit_ms = self._limits[number].move_ms
        self._asked_at = now
        if self._task.adjudicate and number == SEATS - 1 and not room.finished and decided(room.games, len(self._map.mines)):
            self._over.set()

    def _mover(self, ply: int) -> int:
        """Return the hero (0..3) that moves in a ply of the room, counted from 0."""
        return (int(self._first["turn"].item(0)) + ply) % SEATS

    def _why_crashed(self, number: int) -> Forfeit:
        """Return the forfeit of a program whose hero has crashed: the program has ended, or its answer was late."""
        program, limits = self._programs[number], self._limits[number]
        if program.exit_code() is not None:
            return program.why_it_ended()
        late = limits.move_ms if self._run.seats[number].times else limits.first_ms
        return Forfeit(Reason.TIMEOUT, f"no answer in {late} ms")

    def ended(self, room: Room) -> None:
        """Let `play` return the game, because it has ended. See `RoomObserver`."""
        self._over.set()


def play_hosted(task: GameTask, seats: Sequence[Seat | None], logs: Sequence[Path | None], deadline: float) -> GameRun:
    """Play a game in an event loop of its own, and return it. A seat that is None stands for a program that speaks HTTP.

    `logs` has the file for the output of each program, None for no file. The game is stopped at the monotonic time `deadline`.
    Raises an error only if the arena itself fails, not for errors of bots.
    """
    try:
        return asyncio.run(HostedGame(task, seats, logs, deadline).play())
    except ExceptionGroup as problems:
        raise problems.exceptions[0] from None
