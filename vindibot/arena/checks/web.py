"""Cases of programs that speak HTTP: the program is played on a server as in the arena, and its requests are kept."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from sim.board import draw
from sim.game import DIRECTIONS, SEATS, Games
from sim.maps import map_of
from vindibot.arena.checks.case import SHOWN_LINES, Case, CaseRun, cut
from vindibot.arena.schedule import GameTask, SeatTask, wall_seconds
from vindibot.arena.seats.entrants import Entrant, Limits
from vindibot.arena.seats.hosting import HostedGame
from vindibot.arena.seats.seat import Seat
from vindibot.games.position import Position
from vindibot.server.game_server import GameServer

#: Seconds that a program has to end after its game.
EXIT_SECONDS = 2.0
#: Largest number of bytes of a request, and of an answer, that are kept.
STORED_BYTES = 2000
_WORDS = {word.lower() for word in DIRECTIONS}
_PLAY = re.compile(r"/api/[^/]*/[^/]*/play")


class CaughtRequests:
    """Keeps the requests to the application `app` (ASGI): the last ones in `lines`, without keys and tokens.

    `unknown` is the first move that is no word of the protocol, `refused` the first request that was refused. Empty: none.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self.lines: list[str] = []
        self.unknown = self.refused = ""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, and keep it."""
        sent, answer, status = bytearray(), bytearray(), 0
        began = False

        async def receiving() -> Any:
            message = await receive()
            sent.extend(message.get("body", b"")[: STORED_BYTES - len(sent)])
            return message

        async def sending(message: Any) -> None:
            nonlocal status, began
            if message["type"] == "http.response.start":
                status = message["status"]
                began = True
                self._keep(f"> {self._words(scope, bytes(sent))}")
            answer.extend(message.get("body", b"")[: STORED_BYTES - len(answer)])
            await send(message)

        await self._app(scope, receiving, sending)
        if not began:
            return
        said = answer.decode(errors="replace")
        self._keep(f"< {status} {_summary(said) if status == 200 else said.strip()}")
        if status >= 400 and not self.refused:
            self.refused = f"{self._words(scope, bytes(sent))}: {status} {said.strip()}".strip()

    def _words(self, scope: Any, body: bytes) -> str:
        """Return a request in words, and note a move that is no word of the protocol."""
        path, query = scope.get("path", ""), scope.get("query_string", b"").decode("latin-1")
        form = dict(parse_qsl(query, keep_blank_values=True)) | dict(parse_qsl(body.decode("latin-1"), keep_blank_values=True))
        direction = form.get("dir")
        plays = _PLAY.fullmatch(path) is not None
        if plays and direction is not None and direction.strip().lower() not in _WORDS and not self.unknown:
            self.unknown = direction
        shown = " ".join(f"{name}={'...' if name == 'key' else value}" for name, value in form.items())
        return cut(f"{scope.get('method', '')} {'/api/.../play' if plays else path} {shown}".strip())

    def _keep(self, line: str) -> None:
        self.lines = [*self.lines, cut(line)][-SHOWN_LINES:]


def _summary(answer: str) -> str:
    """Return the turn in an answer in words."""
    turn = re.search(r'"turn":(\d+)', answer)
    return f"turn {turn[1]}" if turn else ""


class WatchedGame(HostedGame):
    """A game of a program against rivals that join late, and whose requests are kept in `requests`."""

    exit_seconds = EXIT_SECONDS

    def __init__(self, task: GameTask, case: Case, log: Path) -> None:
        seats: list[Seat | None] = [_Rival(case, hero) for hero in range(SEATS)]
        seats[case.me] = None
        logs = [log if hero == case.me else None for hero in range(SEATS)]
        super().__init__(task, seats, logs, time.monotonic() + task.wall_s)
        self._late_s, self._me = case.late_s, case.me
        self.requests: CaughtRequests | None = None
        self.code_after: int | None = None

    def _new_server(self) -> GameServer:
        server = super()._new_server()
        self.requests = CaughtRequests(server.app)
        server.app = self.requests  # type: ignore[assignment]  # uvicorn calls any ASGI application
        return server

    async def _play_seat(self, number: int, seat: Seat, pool: ThreadPoolExecutor) -> None:
        await asyncio.sleep(self._late_s)
        await super()._play_seat(number, seat, pool)

    async def _let_programs_end(self) -> None:
        await super()._let_programs_end()
        self.code_after = self._programs[self._me].exit_code()


class _Rival(Seat):
    """A rival that moves at random. In one of its turns it takes `late_s` seconds."""

    def __init__(self, case: Case, hero: int) -> None:
        self._moves: Iterator[int] = case.rival_moves(hero)
        self._late_s, self._turns = case.late_s, 0

    def move(self, games: Games) -> int:
        """Return a random move."""
        self._turns += 1
        if self._turns == 2:
            time.sleep(self._late_s)
        return next(self._moves)


def play_web(entrant: Entrant, case: Case, log: Path) -> CaseRun:
    """Play a case with a program that speaks HTTP, and return what happened. `log` is for the output of the program."""
    rivals = [Entrant(name, "random", Limits()) for name in case.names]
    seats = tuple(SeatTask(entrant if hero == case.me else rival, hero) for hero, rival in enumerate(rivals))
    where = map_of(case.first)
    left = (int(case.first["max_turns"].item(0)) - int(case.first["turn"].item(0))) // SEATS
    task = GameTask(
        tournament="check",
        format="all",
        block=0,
        game=0,
        games=1,
        map_text=where.text(),
        map_name="check",
        seed=1,
        rounds=left,
        seats=seats,
        wall_s=wall_seconds(seats, left) + 8 * case.late_s,
        opening=Position(draw(case.first)),
    )
    game = WatchedGame(task, case, log)
    played = asyncio.run(game.play())
    own, requests = played.seats[case.me], game.requests
    assert requests is not None
    return CaseRun(
        outcome=own.outcome,
        times=own.times,
        lines=requests.lines,
        unknown=requests.unknown,
        refused=requests.refused,
        ended=game.code_after,
    )
