"""A server that plays a small game by the protocol, with faults that a script lists.

The board has 2 x 2 squares, and the three opponents never move. The server stores each accepted move with its turn. Our next turn
comes `opponent_seconds` later. A fault is given by the number of its request. Requests to join and moves are counted separately.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from tests.support.listening import Listener, Message, read_message

LIMIT_HEADER = "X-Vindibot-Time-Limit"
TOKEN = "tk0secret"
GAME = "game0001"
WAIT = "Vindinium - Wait, you're not supposed to play now"
LATE = "Vindinium - Time out! You must play faster"
OVER = "Vindinium - The game is finished"


@dataclass(frozen=True)
class Fault:
    """The fault of one request. `when` says whether it comes "before" the move is played (the move is lost) or "after" it.

    kind: reset, close (instead of an answer), cut (half of the body), dribble (a byte now and then), hang, endless, page
    (HTML with status 200), text (`body` with status 200), status (`status`, `body`, `headers`), stale (the state of turn
    `turn`), state (a state with `changes` in its JSON), bye (a good answer, then the idle connection is closed).
    """

    kind: str
    when: str = "before"
    status: int = 503
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    turn: int = 0
    changes: Mapping[str, Any] = field(default_factory=dict)


class FaultyServer(Listener):
    """See the module. Faults may be added while the server runs. `moves` has the (turn, direction) of each played move."""

    def __init__(
        self,
        *,
        joins: Mapping[int, Fault] | None = None,
        moves: Mapping[int, Fault] | None = None,
        plies: int = 20,
        opponent_seconds: float = 0.0,
        limit: float | None = None,
        stated_limit: float = 20.0,
        understands_turn: bool = False,
        host: str = "",
    ) -> None:
        super().__init__()
        self.join_faults = dict(joins or {})
        self.move_faults = dict(moves or {})
        self.plies = plies
        self.opponent_seconds = opponent_seconds
        self.limit = limit  # only if it is set
        self.stated_limit = stated_limit
        self.understands_turn = understands_turn
        self.host = host
        self.turn = self._earlier = 0  # the number of moves in earlier games
        self.moves: list[tuple[int, str]] = []
        self.joins = self.requests = self.connections = self.questions = 0
        self.forms: list[tuple[str, dict[str, str]]] = []
        self.misbehaving = asyncio.Event()
        self._handed_at: float | None = None
        self._ready = asyncio.Event()
        self._ready.set()

    # ---- HTTP ----

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while await self._reply(await read_message(reader), writer):
            pass

    async def _reply(self, request: Message, writer: asyncio.StreamWriter) -> bool:
        method, path, _ = request.first_line.split(" ")
        if method == "GET":
            return await self._write(writer, 200, b"<html>hello</html>", {"Content-Type": "text/html"})
        host = request.headers.get("host", "")
        if path == "/api/waiting":  # as on the original server
            self.questions += 1
            return await self._write(writer, 404, b"<html>not found</html>")
        self.forms.append((path, dict(parse_qsl(request.body.decode(), keep_blank_values=True))))
        if path.endswith("/play"):
            self.requests += 1
            fault = self.move_faults.get(self.requests)
        else:
            self.joins += 1
            fault = self.join_faults.get(self.joins)
        if fault is not None and fault.when == "before":
            return await self._misbehave(fault, writer, host)
        status, text = await self._protocol(path, self.forms[-1][1], host)
        if fault is not None:
            return await self._misbehave(fault, writer, host)
        return await self._write(writer, status, text.encode())

    async def _write(self, writer: asyncio.StreamWriter, status: int, body: bytes, more: Mapping[str, str] | None = None) -> bool:
        headers = {"Content-Type": "application/json" if status == 200 else "text/plain", "Content-Length": str(len(body))}
        if self.understands_turn:
            headers[LIMIT_HEADER] = str(round(1000 * (self.limit or self.stated_limit)))
        headers |= dict(more or {})
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {status} Whatever\r\n{lines}\r\n".encode() + body)
        await writer.drain()
        return True

    async def _misbehave(self, fault: Fault, writer: asyncio.StreamWriter, host: str) -> bool:
        self.misbehaving.set()
        good = self._state(host).encode()
        if fault.kind == "reset":
            raw = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        elif fault.kind == "cut":
            await self._write(writer, 200, good[: len(good) // 2], {"Content-Length": str(len(good))})
        elif fault.kind == "dribble":
            await self._write(writer, 200, b"", {"Content-Length": str(len(good))})
            for byte in good:
                await asyncio.sleep(0.05)
                writer.write(bytes([byte]))
                await writer.drain()
        elif fault.kind == "hang":
            await asyncio.sleep(3600)
        elif fault.kind == "endless":
            await self._write(writer, 200, b"", {"Content-Length": str(1 << 40)})
            while True:
                writer.write(b" " * 65536)
                await writer.drain()
        elif fault.kind == "page":
            return await self._write(writer, 200, b"<html><body>Log in to the guest network</body></html>")
        elif fault.kind == "text":
            return await self._write(writer, 200, fault.body.encode())
        elif fault.kind == "status":
            return await self._write(writer, fault.status, fault.body.encode(), fault.headers)
        elif fault.kind == "stale":
            return await self._write(writer, 200, self._state(host, turn=fault.turn).encode())
        elif fault.kind == "state":
            return await self._write(writer, 200, self._state(host, changes=fault.changes).encode())
        elif fault.kind == "bye":
            await self._write(writer, 200, good)
        else:
            assert fault.kind == "close", fault
        return False

    # ---- The game ----

    async def _protocol(self, path: str, form: dict[str, str], host: str) -> tuple[int, str]:
        loop = asyncio.get_running_loop()
        if not path.endswith("/play"):
            self.turn, self._earlier = 0, len(self.moves)
            self._handed_at = loop.time()
            return 200, self._state(host)
        if path != f"/api/{GAME}/{TOKEN}/play":
            return 404, "Vindinium - Wrong or expired token"
        repeated = self.understands_turn and any(str(turn) == form.get("turn") for turn, _ in self.moves[self._earlier :])
        if repeated:
            await self._ready.wait()
        else:
            if self.turn >= self.plies:
                return 400, OVER
            if not self._ready.is_set():
                return 400, WAIT
            if self.limit is not None and self._handed_at is not None and loop.time() > self._handed_at + self.limit:
                return 400, LATE
            self.moves.append((self.turn, form["dir"]))
            self._ready.clear()
            loop.call_later(self.opponent_seconds, self._next_turn)
            await self._ready.wait()
        return 200, self._state(host)

    def _next_turn(self) -> None:
        self.turn += 4
        self._handed_at = asyncio.get_running_loop().time()
        self._ready.set()

    def _state(self, host: str, turn: int | None = None, changes: Mapping[str, Any] | None = None) -> str:
        turn = self.turn if turn is None else turn
        heroes = [
            {
                "id": number,
                "name": "random",
                "pos": {"x": x, "y": y},
                "life": 100,
                "gold": 0,
                "mineCount": 0,
                "spawnPos": {"x": x, "y": y},
                "crashed": False,
                "novelty": [1, 2],
            }
            for number, (x, y) in enumerate([(0, 0), (1, 0), (1, 1), (0, 1)], 1)
        ]
        game = {
            "id": GAME,
            "turn": turn,
            "maxTurns": self.plies,
            "heroes": heroes,
            "board": {"size": 2, "tiles": "@1@4@2@3"},
            "finished": turn >= self.plies,
        }
        host = self.host or host
        state: dict[str, Any] = {
            "game": game,
            "hero": heroes[0],
            "token": TOKEN,
            "viewUrl": f"http://{host}/{GAME}",
            "playUrl": f"http://{host}/api/{GAME}/{TOKEN}/play",
            "unheardOf": {"deep": True},
        }
        for dotted, value in (changes or {}).items():
            *path, last = dotted.split(".")
            place: Any = state
            for part in path:
                place = place[int(part)] if part.isdigit() else place[part]
            if value is ...:
                del place[last]
            else:
                place[last] = value
        return json.dumps(state)
