"""The starters in plain Python, JavaScript and Java: the same cases for each of them."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from tests.support.arenabots import first_game
from tests.support.commands import ended, line_with
from tests.support.faulty_server import Fault, FaultyServer
from tests.support.paths import TOP

STARTERS = {"python": "bot.py", "javascript": "bot.js", "java": "Bot.java"}
PROGRAMS = {"python": sys.executable, "javascript": shutil.which("node"), "java": shutil.which("java")}
OVER = Fault("status", status=400, body="Vindinium - The league is over")


@dataclass(frozen=True)
class Case:
    """The faults of a server, then the turns of the moves that it gets, and what the starter prints."""

    joins: Mapping[int, Fault]
    moves: Mapping[int, Fault] = field(default_factory=dict)
    turns: tuple[int, ...] = ()
    words: tuple[str, ...] = ("the server says: Vindinium - The league is over",)


CASES = {
    "plays the whole league": Case({3: OVER}, turns=(0, 4, 8, 0, 4, 8)),
    "repeats what is lost": Case(
        {1: Fault("status", body="The server is full"), 2: Fault("reset"), 4: OVER},
        {2: Fault("status", status=521), 4: Fault("cut")},
        (0, 4, 8),
        ("does not answer: The server is full. Trying again.",),
    ),
    "goes on after a restart of the server": Case(
        {3: OVER},
        {2: Fault("status", status=404, body="Vindinium - Unknown game abc")},
        (0, 0, 4, 8),
        ("this game is over for us: Vindinium - Unknown game abc",),
    ),
    "goes on after a move that was too late": Case(
        {3: OVER}, {3: Fault("status", status=400, body="Vindinium - Time out! You must play faster")}, (0, 4, 0, 4, 8)
    ),
    "names a wrong key": Case(
        {1: Fault("status", status=400, body="Vindinium - Key not found")},
        words=("the server says: Vindinium - Key not found: check your slip",),
    ),
}


def starter(name: str, *words: str) -> list[str]:
    program = PROGRAMS[name]
    if program is None:
        pytest.skip(f"{name} is not installed")
    return [program, str(TOP / "config" / "starters" / name / STARTERS[name]), *words]


@asynccontextmanager
async def started(name: str, *words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a starter within the block."""
    process = await asyncio.create_subprocess_exec(
        *starter(name, *words), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


every_starter = pytest.mark.parametrize("name", ["python", "javascript", pytest.param("java", marks=pytest.mark.slow)])


@every_starter
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_a_starter(name: str, case: Case) -> None:
    async with FaultyServer(joins=case.joins, moves=case.moves, plies=12, understands_turn=True) as server:
        async with started(name, server.url.removeprefix("http://"), "k3ysecr8") as process:
            printed = await ended(process)
        assert process.returncode == 1, printed
        assert server.joins == max(case.joins), printed
        assert tuple(turn for turn, _ in server.moves) == case.turns, printed
        assert [words for words in case.words if words not in printed] == []
        assert "tk0secret" not in printed
        assert "k3ysecr8" not in printed


@pytest.mark.slow
@every_starter
async def test_an_unreachable_server_is_named_at_once_and_every_half_minute(name: str) -> None:
    server = FaultyServer(joins={2: OVER}, plies=12, understands_turn=True)
    async with server:
        port = server.port
    async with started(name, f"127.0.0.1:{port}", "k3ysecr8") as process:
        for _ in range(2):
            assert f"http://127.0.0.1:{port} does not answer: " in await line_with(process, "Trying again.")
        await server.start(port)
        try:
            printed = await ended(process)
            assert printed.count("Trying again") == 0
            assert [turn for turn, _ in server.moves] == [0, 4, 8]
        finally:
            await server.__aexit__(None, None, None)


@pytest.mark.slow
def test_the_starters_play() -> None:
    names = [name for name, program in PROGRAMS.items() if program is not None]
    bots = [f"{name}=http:{shlex.join(starter(name))} {{server}} {{key}} 1" for name in names]
    game = first_game(*[*bots, "stay", "stay"][:4], rounds=60, limits__move_ms=20_000, limits__start_s=120)
    assert [(seat.outcome.reason, seat.moves) for seat in game.seats] == [("finished", 60)] * 4, game
    for seat in game.seats:
        assert seat.bot not in names or seat.gold > 0, game
