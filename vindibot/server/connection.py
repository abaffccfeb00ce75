"""One connection: uvicorn's HTTP over h11, with a timer for slow heads, and an answer in one packet.

uvicorn limits how long a connection may idle between requests, and the app how long a body may take. What neither does is
give up on a request whose head drips in for ever, or on a connection that never says anything; that is done here. And h11
writes an answer in pieces, each a system call and a packet of its own; here the pieces go out together.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState


class JoiningTransport:
    """A transport that writes what it is given in one round of the loop together.

    h11 ends an answer of known length with an empty write: everything before it is sent then. Any other answer (a stream)
    is sent a moment later.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._pieces: list[bytes] = []
        self._flushing: asyncio.Handle | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send `data` soon; at once, with what came before, if it is empty."""
        if data:
            self._pieces.append(data)
            if self._flushing is None:
                self._flushing = self._loop.call_soon(self._flush)
        elif self._pieces:
            self._flush()

    def close(self) -> None:
        """Send what there is, then close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        if self._pieces:
            data = b"".join(self._pieces)
            self._pieces.clear()
            self._transport.write(data)


class PatientConnection(H11Protocol):
    """A connection whose patience ends: with a head that does not arrive within `head_seconds` of its first byte, and with a
    new connection on which nothing arrives at all within uvicorn's ``timeout_keep_alive``."""

    head_seconds = 10.0

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        real = cast(asyncio.Transport, transport)
        super().connection_made(cast(asyncio.Transport, JoiningTransport(real, self.loop)))
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._stop_timer()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Read what has arrived (called for new bytes, and for those that waited behind an answer)."""
        super().handle_events()
        # h11 is idle from the end of one request to the end of the next one's head.
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
        elif self._head_timer is None and self.conn.trailing_data[0]:
            self._head_timer = self.loop.call_later(self.head_seconds, self._give_up)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            answer = h11.Response(status_code=408, headers=[(b"connection", b"close"), (b"content-length", b"0")])
            self.transport.write(self.conn.send(answer))
            self.transport.close()


def connection_class(head_seconds: float) -> type[PatientConnection]:
    """The connection of a server with this limit for heads."""
    return type("Connection", (PatientConnection,), {"head_seconds": head_seconds})
