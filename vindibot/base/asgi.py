"""An HTTP server that runs in the event loop of the calling program."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import uvicorn

#: Largest number of seconds to wait for open requests when the server closes.
CLOSING_SECONDS = 2


class AsgiServer(uvicorn.Server):
    """A uvicorn server for an ASGI application. It installs no signal handlers, and `begin` waits until the server listens.

    `options` are more options of `uvicorn.Config`.
    """

    def __init__(self, app: Any, **options: Any) -> None:
        quiet: dict[str, Any] = {"lifespan": "off", "ws": "none", "log_config": None, "log_level": "error", "access_log": False}
        quiet |= {"server_header": False, "proxy_headers": False, "timeout_graceful_shutdown": CLOSING_SECONDS}
        super().__init__(uvicorn.Config(app, **quiet | options))
        self._listening = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers, unlike `uvicorn.Server`."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, as in `uvicorn.Server`. Then let `begin` return."""
        await super().startup(sockets=sockets)
        self._listening.set()

    async def begin(self, listener: socket.socket) -> bool:
        """Start to serve on this socket. Return True when the server listens, or False if it ends before it listens.

        If the server fails before it listens, raise the exception of the server.
        """
        self._task = asyncio.create_task(self.serve([listener]), name="vindibot-server")
        listening = asyncio.create_task(self._listening.wait())
        await asyncio.wait((self._task, listening), return_when=asyncio.FIRST_COMPLETED)
        if listening.done():
            return True
        listening.cancel()
        await self._task
        return False

    async def end(self) -> None:
        """Stop the server after it has answered the open requests."""
        if self._task is not None:
            self.should_exit = True
            await self._task
