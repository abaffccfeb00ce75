"""An HTTP server as a guest in somebody else's event loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import uvicorn

#: Seconds that requests still open are waited for when the server closes.
CLOSING_SECONDS = 2


class AsgiServer(uvicorn.Server):
    """uvicorn for an ASGI application: it leaves the signal handlers alone and says when it listens.

    `options` are further ones of `uvicorn.Config`.
    """

    def __init__(self, app: Any, **options: Any) -> None:
        quiet: dict[str, Any] = {"lifespan": "off", "ws": "none", "log_config": None, "log_level": "error", "access_log": False}
        quiet |= {"server_header": False, "proxy_headers": False, "timeout_graceful_shutdown": CLOSING_SECONDS}
        super().__init__(uvicorn.Config(app, **quiet | options))
        self._listening = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """None are captured."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn."""
        await super().startup(sockets=sockets)
        self._listening.set()

    async def begin(self, listener: socket.socket) -> bool:
        """Serve on this socket; returns once it is being listened to, False if the server has ended before. Raises what
        went wrong."""
        self._task = asyncio.create_task(self.serve([listener]), name="vindibot-server")
        listening = asyncio.create_task(self._listening.wait())
        await asyncio.wait((self._task, listening), return_when=asyncio.FIRST_COMPLETED)
        if listening.done():
            return True
        listening.cancel()
        await self._task
        return False

    async def end(self) -> None:
        """Answer what is open, and stop."""
        if self._task is not None:
            self.should_exit = True
            await self._task
