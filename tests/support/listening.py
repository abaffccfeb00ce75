"""A small TCP server for tests, and HTTP messages that it reads."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from types import TracebackType
from typing import Self


@dataclass(frozen=True)
class Message:
    """An HTTP request or answer. `head` has the bytes up to the empty line, with this line. `body` has the other bytes."""

    head: bytes
    body: bytes

    @property
    def first_line(self) -> str:
        return self.head.decode("latin-1").partition("\r\n")[0]

    @property
    def headers(self) -> dict[str, str]:
        """Return the values of the headers by their names in small letters."""
        return _headers(self.head)


async def read_message(reader: asyncio.StreamReader) -> Message:
    """Return the next message on a connection. Raises `asyncio.IncompleteReadError` if the connection ends within it."""
    head = await reader.readuntil(b"\r\n\r\n")
    return Message(head, await reader.readexactly(int(_headers(head).get("content-length", 0))))


def _headers(head: bytes) -> dict[str, str]:
    lines = head.decode("latin-1").split("\r\n")[1:]
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)}


class Listener:
    """A server on a port of this machine. The method `converse` of a subclass handles a connection.

    At its end it closes all connections and waits for their tasks.
    """

    def __init__(self) -> None:
        self.port = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer on a connection. The connection is closed afterwards."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return await self.start()

    async def start(self, port: int = 0) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        self.port = self._server.sockets[0].getsockname()[1]
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
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self.converse(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.close()
