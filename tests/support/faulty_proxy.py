"""A bad network: a TCP proxy that breaks exchanges at random."""

from __future__ import annotations

import asyncio
import contextlib
import random
from types import TracebackType
from typing import Self


class FaultyProxy:
    """Passes requests on to a server on this machine, and spoils the `share` of those that carry orders.

    A spoiled one is dropped before it reaches the server, or its answer is dropped whole or in the middle, or comes
    `delay` seconds late, if that is not 0. `spoiled` counts them.
    """

    def __init__(self, port: int, rng: random.Random, share: float, delay: float = 0.0) -> None:
        self._target = port
        self._rng = rng
        self._share = share
        self._delay = delay
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.url = ""
        self.spoiled = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
            try:
                while await self._pass_on(reader, writer, far_reader, far_writer):
                    pass
            finally:
                far_writer.close()
        self._tasks.discard(task)
        writer.close()

    async def _pass_on(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        far_reader: asyncio.StreamReader,
        far_writer: asyncio.StreamWriter,
    ) -> bool:
        request = await _message(reader)
        spoil = b"/play" in request[:200] and self._rng.random() < self._share
        fault = self._rng.choice(("request", "answer", "middle", *(["delay"] if self._delay else []))) if spoil else ""
        self.spoiled += spoil
        if fault == "request":
            return False
        far_writer.write(request)
        answer = await _message(far_reader)
        if fault == "answer":
            return False
        if fault == "delay":
            await asyncio.sleep(self._delay)
        writer.write(answer[: len(answer) // 2] if fault == "middle" else answer)
        await writer.drain()
        return fault != "middle"


async def _message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return head + await reader.readexactly(length)
