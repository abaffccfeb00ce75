"""The server on this machine: plies per second, its own time per ply, cost of spectators, many clients.

The clients are as simple as possible and run in another process. The server's own time per ply is measured inside the server:
from the moment when the bytes of a move are read until the next hero's state is written.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import multiprocessing
import time
from collections.abc import AsyncIterator
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from typing import Any

import numpy as np
import structlog
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from sim import kernels
from tests.benchmarks import Row, sized
from tests.support.waiting import until
from vindibot.server.embedded import EmbeddedServer
from vindibot.server.room import Room
from vindibot.server.settings import ServerSettings

#: Numbers of games at once, and seconds for which each number is measured.
CROWDS = sized(((1, 4.0), (20, 4.0), (200, 8.0)), ((2, 2.0),))
STREAMS, STREAM_SECONDS, STREAM_PAIRS = sized((100, 2.0, 3), (5, 0.5, 1))
PLIES = sized(3000, 100)
LIMIT_MS = 1000
KEY = "benchmrk"
JOIN = (
    b"POST /api/arena HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 12\r\n\r\nkey="
    + KEY.encode()
)
DIRECTIONS = (b"North", b"South", b"East", b"West")


# ---- The clients, in a process of their own ----


async def client(port: int, number: int, stop: Event, late: list[int]) -> None:
    """Play arena games on one connection until `stop` is set, then give the game up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(JOIN)
    turn = number
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(int(head.partition(b"ontent-length: ")[2].partition(b"\r")[0]))
        if not head.startswith(b"HTTP/1.1 200"):
            late.append(number)
            break
        if stop.is_set():
            break
        if body.find(b'"finished":true') >= 0:
            writer.write(JOIN)
            continue
        path = body[body.rindex(b"/api/") : -2]
        word = DIRECTIONS[turn % 4]
        turn += 1
        writer.write(
            b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\ndir=%b"
            % (path, 4 + len(word), word)
        )
    writer.close()


async def crowd(port: int, games: int, stop: Event) -> int:
    late: list[int] = []
    await asyncio.gather(*(client(port, number, stop, late) for number in range(4 * games)), return_exceptions=True)
    return len(late)


def clients(port: int, games: int, stop: Event) -> None:
    """Run the process of the clients. Its exit code is 1 if a client was refused."""
    raise SystemExit(bool(asyncio.run(crowd(port, games, stop))))


def start_clients(port: int, games: int) -> tuple[BaseProcess, Event]:
    """Start the process of the clients. Return it and the event that ends it."""
    spawn = multiprocessing.get_context("spawn")
    stop = spawn.Event()
    process = spawn.Process(target=clients, args=(port, games, stop))
    process.start()
    return process, stop


# ---- The server, in this process ----


class Stopwatch:
    """Counts plies and crashes. `read_at` is the time at which the last move was read."""

    def __init__(self) -> None:
        self.plies = self.crashes = 0
        self.read_at = 0.0
        self.until = float("inf")

    def began(self, room: Room) -> None:
        pass

    def played(self, room: Room, move: int) -> None:
        if time.monotonic() < self.until:
            self.plies += 1
            self.crashes += move not in range(5)

    def ended(self, room: Room) -> None:
        pass


@contextlib.asynccontextmanager
async def serving(watch: Stopwatch, **settings: Any) -> AsyncIterator[EmbeddedServer]:
    options = {"keys": "any", "time_limit_ms": LIMIT_MS, "keep_finished_seconds": 1, "rounds": 600, "seed": 1} | settings
    options |= dict.fromkeys(("heroes_per_key", "heroes_per_address", "streams_per_address", "requests_per_address"), 100_000)
    async with EmbeddedServer(ServerSettings.model_validate(options), (watch,)) as server:
        yield server


async def measure(games: int, seconds: float) -> tuple[float, Stopwatch, float, int]:
    """Return plies per second, the stopwatch, the share of its core that the server used, and the exit code of the clients."""
    watch = Stopwatch()
    async with serving(watch) as server:
        process, stop = start_clients(server.port, games)
        await until(lambda: len(server.lobby.rooms) >= games, 300)
        await asyncio.sleep(0.5)
        gc.collect()
        watch.plies = watch.crashes = 0
        began, cpu = time.monotonic(), time.process_time()
        watch.until = began + seconds - 1.0
        await asyncio.sleep(seconds - 1.0)
        took, busy = time.monotonic() - began, time.process_time() - cpu
        plies = watch.plies
        stop.set()
        await until(lambda: not process.is_alive(), 300)
        return plies / took, watch, busy / took, process.exitcode or 0


async def own_share(plies: int = PLIES) -> list[float]:
    """Return, for each ply, the seconds from reading a move to writing the next state, with four fast clients."""
    watch = Stopwatch()
    shares: list[float] = []
    receive, send = H11Protocol.data_received, RequestResponseCycle.send

    def data_received(self: H11Protocol, data: bytes) -> None:
        watch.read_at = time.perf_counter()
        receive(self, data)

    async def noted(self: RequestResponseCycle, message: Any) -> None:
        await send(self, message)
        if message["type"] == "http.response.body" and watch.read_at:
            shares.append(time.perf_counter() - watch.read_at)
            watch.read_at = 0.0

    H11Protocol.data_received, RequestResponseCycle.send = data_received, noted  # type: ignore[method-assign]
    try:
        async with serving(watch) as server:
            process, _ = start_clients(server.port, 1)
            await until(lambda: len(shares) >= plies + 200, 300)
            process.terminate()
            process.join()
    finally:
        H11Protocol.data_received, RequestResponseCycle.send = receive, send  # type: ignore[method-assign]
    return shares[200:]


def readers(port: int, games: list[str], count: int, ready: Any) -> None:
    """Run the process of the spectators: read `count` streams, and discard the data."""

    async def read(game: str) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET /events/{game} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        opened.append(game)
        if len(opened) == count:
            ready.set()
        while await reader.read(1 << 16):
            pass

    async def all_of_them() -> None:
        await asyncio.gather(*(read(games[number % len(games)]) for number in range(count)), return_exceptions=True)

    opened: list[str] = []
    asyncio.run(all_of_them())


async def cost_of_a_ply(streams: int, games: int = 20) -> float:
    """Return the server's processor seconds per ply with this number of spectators, who join near the start of the games."""
    watch = Stopwatch()
    spawn = multiprocessing.get_context("spawn")
    async with serving(watch, rounds=100_000) as server:
        players, _ = start_clients(server.port, games)
        ready = spawn.Event()
        await until(lambda: len(server.lobby.rooms) == games, 300)
        spectators = spawn.Process(target=readers, args=(server.port, list(server.lobby.rooms), streams, ready))
        spectators.start()
        await until(lambda: ready.is_set() or not streams)
        await asyncio.sleep(STREAM_SECONDS)  # the missed events are sent first
        plies, cpu = watch.plies, time.process_time()
        await asyncio.sleep(STREAM_SECONDS)
        cost = (time.process_time() - cpu) / (watch.plies - plies)
        for process in (players, spectators):
            process.terminate()
            process.join()
        return cost


def rows() -> list[Row]:
    """Return all figures of the server."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    kernels.warm()
    found = []
    for games, seconds in CROWDS:
        rate, watch, busy, refused = asyncio.run(measure(games, seconds))
        note = f"{busy:.0%} of a core, {watch.crashes} crashed, {'some were refused' if refused else 'nobody refused'}"
        found.append(Row(f"plies of {games} game{'s' * (games > 1)}, 4 clients each", f"{rate:,.0f}/s", "", note))
    shares = np.percentile(asyncio.run(own_share()), (50, 99)) * 1e6
    found.append(Row("server's share of a ply, p50 and p99", f"{shares[0]:.0f} and {shares[1]:.0f} us"))
    costs = [(asyncio.run(cost_of_a_ply(0)), asyncio.run(cost_of_a_ply(STREAMS))) for _ in range(STREAM_PAIRS)]
    alone, watched = np.min(costs, axis=0) * 1e6
    note = f"{alone:.0f} and {watched:.0f} us of CPU per ply; less than 1.10 wanted"
    found.append(Row(f"{STREAMS} stream readers of 20 games", f"{watched / alone:.2f}x", f"{watched / alone:.2f}x", note))
    return found
