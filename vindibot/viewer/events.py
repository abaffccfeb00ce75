"""Streams of server-sent events, for the live viewer and for servers: their bytes, their headers, and where a reader continues.

The data of an event comes before its id, and an empty line shows that a quiet stream lives. Clients of the original server take
each line that is not empty for ``data: `` and a state.
"""

from __future__ import annotations

import asyncio

from starlette.requests import Request

TYPE = "text/event-stream"
HEADERS = {"cache-control": "no-cache", "x-accel-buffering": "no"}  # a proxy must not buffer events
#: Seconds without an event after which a stream sends `HEARTBEAT`.
QUIET_SECONDS = 15.0
HEARTBEAT = b"\n"


def event(number: int | None, data: bytes, kind: str = "") -> bytes:
    """Return a server-sent event of type `kind` ("" for none). It has the id `number`, or no id if `number` is None."""
    named = b"event: %b\n" % kind.encode() if kind else b""
    return b"%bdata: %b\n\n" % (named, data) if number is None else b"%bdata: %b\nid: %d\n\n" % (named, data, number)


def retry(milliseconds: int) -> bytes:
    """Return the line that tells a browser to reconnect so long after its connection breaks. Its default is several seconds."""
    return b"retry: %d\n\n" % milliseconds


def last_event(request: Request) -> int:
    """Return the number of the last event that the reader has seen (header Last-Event-ID), 0 for none."""
    text = request.headers.get("last-event-id", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


class Watched:
    """An object that changes until it is `over`. Streams wait for its changes."""

    def __init__(self) -> None:
        self.over = False
        self._changed = asyncio.Event()

    def end(self) -> None:
        """Mark the object as over, and wake its streams."""
        self.over = True
        self.wake()

    def wake(self) -> None:
        """Wake the streams, so that they look for new events."""
        self._changed.set()
        self._changed.clear()

    async def changes(self) -> bool:
        """Return True at the next change, or False if there is none within `QUIET_SECONDS`."""
        try:
            async with asyncio.timeout(QUIET_SECONDS):
                return await self._changed.wait()
        except TimeoutError:
            return False
