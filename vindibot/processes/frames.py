"""Frames: the messages between a child process and its owner.

A frame is a head and a payload. The head has one byte that is always `MARK`, the kind, a channel (the number of a trait, or 0),
and the length of the payload.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MARK = 0xB0
#: Kinds of frames with one meaning for all users: the child is ready; it failed, with a text; a trait printed a text; a request
#: is answered. The kinds of a user begin at `FIRST_KIND`.
READY, FAILED, OUTPUT, DONE = range(4)
FIRST_KIND = 16

_HEAD = struct.Struct("<BBHI")


class FrameError(ValueError):
    """Bytes are no frame."""


class ChildFrame(NamedTuple):
    """A message: its kind, its channel and its payload."""

    kind: int
    channel: int
    payload: bytes

    @property
    def text(self) -> str:
        """The payload as text."""
        return self.payload.decode(errors="replace")

    def records(self, dtype: np.dtype[np.void], count: int) -> NDArray[np.void]:
        """Return the payload as `count` records. Raises `FrameError` if it has another length."""
        if len(self.payload) != count * dtype.itemsize:
            raise FrameError(f"a frame has {len(self.payload)} bytes instead of {count} records of {dtype.itemsize} bytes")
        return np.frombuffer(self.payload, dtype, count)


def encode(kind: int, payload: bytes = b"", channel: int = 0) -> bytes:
    """Return a frame as bytes."""
    return _HEAD.pack(MARK, kind, channel, len(payload)) + payload


class Decoder:
    """Decodes the frames of one sender. `longest` is the largest length of a payload, `kinds` the kinds that it may send."""

    def __init__(self, longest: int, kinds: Collection[int]) -> None:
        self._longest, self._kinds = longest, frozenset(kinds)
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[ChildFrame]:
        """Return the frames that are complete with the bytes `data`. Raises `FrameError`."""
        buffer: bytes | bytearray = data
        if self._buffer:
            self._buffer += data
            buffer = self._buffer
        found, start, size = [], 0, len(buffer)
        while size - start >= _HEAD.size:
            mark, kind, channel, length = _HEAD.unpack_from(buffer, start)
            if mark != MARK or kind not in self._kinds or length > self._longest:
                raise FrameError(f"bytes are no frame: {bytes(buffer[start : start + 20])!r}")
            end = start + _HEAD.size + length
            if size < end:
                break
            found.append(ChildFrame(kind, channel, bytes(buffer[start + _HEAD.size : end])))
            start = end
        if start < size and buffer[start] != MARK:
            raise FrameError(f"bytes are no frame: {bytes(buffer[start:])!r}")
        if buffer is data:
            if start < size:
                self._buffer += data[start:]
        else:
            del self._buffer[:start]
        return found
