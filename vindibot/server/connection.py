"""One connection: uvicorn's HTTP over h11 with these additions.

- Time limits: a request gets a 408 if its head does not arrive in time, and a new connection is closed if no request comes.
  (uvicorn itself limits the time between two requests, and the application limits the time for a body.)
- An answer is sent in one packet, although h11 writes it in pieces.
- A request that states its length in two ways is refused.
- If there are too many connections, each request on a new connection gets a 503.
- The scope of each request says when the request arrived.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

import h11
from fastapi.responses import PlainTextResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

from vindibot.server.limits import network_of
from vindibot.server.listener import Listener

#: Key in a request's scope. Its value is the loop's time at which the request's first byte arrived. The key is missing if the
#: request arrived before the answer to an earlier request was sent.
ARRIVED = "vindibot.arrived"
#: Seconds for which a new connection may be silent while there are too many connections.
FULL_SECONDS = 2
#: The answer to a request while there are too many connections.
FULL = PlainTextResponse(
    "Vindinium - The server has too many connections, try again later", 503, {"Connection": "close", "Retry-After": "5"}
)


class StrictParser(h11.Connection):
    """h11's parser, but a request with both Content-Length and Transfer-Encoding is refused (RFC 9112, section 6.1).

    A proxy and a server may disagree about the end of such a request. Then its body can hide a second request from the proxy.
    """

    problem = ""

    def next_event(self) -> Any:
        """Return h11's next event. Raises `h11.RemoteProtocolError`. If this class refuses the request, `problem` says why."""
        event = super().next_event()
        if isinstance(event, h11.Request) and {b"content-length", b"transfer-encoding"} <= {name for name, _ in event.headers}:
            self.problem = "A request has either Content-Length or Transfer-Encoding, not both"
            raise h11.RemoteProtocolError(self.problem)
        return event


class JoiningTransport:
    """A transport that joins all writes within one round of the event loop into one write.

    h11 ends an answer of known length with an empty write. This empty write sends the joined data at once. The data of any other
    answer (a stream) is sent in the next round.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._pieces: list[bytes] = []
        self._flushing: asyncio.Handle | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send `data` in the next round of the loop. If `data` is empty, send the data of earlier calls now."""
        if data:
            self._pieces.append(data)
            if self._flushing is None:
                self._flushing = self._loop.call_soon(self._flush)
        elif self._pieces:
            self._flush()

    def close(self) -> None:
        """Send the data of earlier calls, then close."""
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
    """A connection with two time limits.

    The head of a request must arrive within `head_seconds` of its first byte. The first byte on a new connection must arrive
    within uvicorn's ``timeout_keep_alive``.
    """

    head_seconds = 10.0
    listener: Listener | None = None
    conn: StrictParser

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn = StrictParser(h11.SERVER)
        self._head_timer: asyncio.TimerHandle | None = None
        self._began: float | None = None  # time at which the first byte of the current head arrived

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        real = cast("asyncio.Transport", transport)
        super().connection_made(cast("asyncio.Transport", JoiningTransport(real, self.loop)))
        if self.listener is not None and self.listener.is_crowded(network_of(self.client[0] if self.client else "")):
            self.app = FULL
            self.timeout_keep_alive = FULL_SECONDS
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._stop_timer()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        # h11 is idle from the end of one request to the end of the next request's head. It is not idle while an answer is still
        # to be sent. Bytes that arrive during this time belong to a later request, and the time of their arrival is not stored.
        if self._began is None and self.conn.their_state is h11.IDLE:
            self._began = self.loop.time()
        super().data_received(data)

    def handle_events(self) -> None:
        """Handle the bytes that have arrived. Called when bytes arrive, and after an answer if more bytes arrived meanwhile."""
        super().handle_events()
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
            if self._began is not None and self.scope is not None:
                cast("dict[str, Any]", self.scope)[ARRIVED], self._began = self._began, None
        elif self._head_timer is None and self.conn.trailing_data[0]:
            self._head_timer = self.loop.call_later(self.head_seconds, self._time_out)

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that is not valid HTTP, and close the connection."""
        super().send_400_response(self.conn.problem or msg)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _time_out(self) -> None:
        self._head_timer = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            answer = h11.Response(status_code=408, headers=[(b"connection", b"close"), (b"content-length", b"0")])
            self.transport.write(self.conn.send(answer))
            self.transport.close()


def connection_class(head_seconds: float, listener: Listener | None = None) -> type[LimitedConnection]:
    """Return a connection class in which the head of a request must arrive within `head_seconds`.

    `listener` limits the number of connections.
    """
    return type("Connection", (LimitedConnection,), {"head_seconds": head_seconds, "listener": listener})
