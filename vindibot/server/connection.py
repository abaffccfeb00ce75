"""One connection: uvicorn's HTTP over h11, with a timer for slow heads, and an answer in one packet.

uvicorn limits how long a connection may idle between requests, and the app how long a body may take. What neither does is
give up on a request whose head drips in for ever, or on a connection that never says anything; that is done here. And h11
writes an answer in pieces, each a system call and a packet of its own; here the pieces go out together. A request whose length
is stated in two ways is refused, and each request says when it arrived.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

#: In the scope of a request: when its first byte arrived, by the clock of the loop; missing if it waited behind an answer.
ARRIVED = "vindibot.arrived"


class StrictParser(h11.Connection):
    """h11's parser, which refuses a request with both Content-Length and Transfer-Encoding (RFC 9112, section 6.1).

    A proxy and a server that disagree about the end of such a request can be made to take its body for a request.
    """

    problem = ""

    def next_event(self) -> Any:
        """See h11. Raises `h11.RemoteProtocolError`; `problem` says why, if it was refused here."""
        event = super().next_event()
        if isinstance(event, h11.Request) and {b"content-length", b"transfer-encoding"} <= {name for name, _ in event.headers}:
            self.problem = "A request has either Content-Length or Transfer-Encoding, not both"
            raise h11.RemoteProtocolError(self.problem)
        return event


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


class LimitedConnection(H11Protocol):
    """A connection whose patience ends: with a head that does not arrive within `head_seconds` of its first byte, and with a
    new connection on which nothing arrives at all within uvicorn's ``timeout_keep_alive``."""

    head_seconds = 10.0
    conn: StrictParser

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.conn = StrictParser(h11.SERVER)
        self._head_timer: asyncio.TimerHandle | None = None
        self._began: float | None = None  # when the first byte of the present head arrived

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        real = cast("asyncio.Transport", transport)
        super().connection_made(cast("asyncio.Transport", JoiningTransport(real, self.loop)))
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._stop_timer()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        # h11 is idle from the end of one request to the end of the next one's head. Bytes that wait behind an answer are of a
        # request that begins when this answer has been sent.
        if self._began is None and self.conn.their_state is h11.IDLE:
            self._began = self.loop.time()
        super().data_received(data)

    def handle_events(self) -> None:
        """Read what has arrived (called for new bytes, and for those that waited behind an answer)."""
        super().handle_events()
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
            if self._began is not None and self.scope is not None:
                cast("dict[str, Any]", self.scope)[ARRIVED], self._began = self._began, None
        elif self._head_timer is None and self.conn.trailing_data[0]:
            self._head_timer = self.loop.call_later(self.head_seconds, self._give_up)

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that is not HTTP, and close the connection."""
        super().send_400_response(self.conn.problem or msg)

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


def connection_class(head_seconds: float) -> type[LimitedConnection]:
    """The connection of a server with this limit for heads."""
    return type("Connection", (LimitedConnection,), {"head_seconds": head_seconds})
