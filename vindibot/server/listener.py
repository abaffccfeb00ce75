"""The listening socket of the server. It keeps the number of connections below the limits of the settings and of the system."""

from __future__ import annotations

import errno
import os
import socket
import time
from contextlib import suppress
from typing import Any

import structlog

from vindibot.base.system import free_files
from vindibot.server.limits import Share, network_of

#: Number of open files that are left for the database, pages and pictures.
RESERVED_FILES = 32
#: Number of connections above a limit that get an answer (503). Further connections are closed without an answer.
ANSWERED = 16
#: The shortest time between two warnings that connections are closed, in seconds.
QUIET_SECONDS = 60.0
#: Errors of a process or a machine that has no file descriptor or no memory for one more connection.
EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

_log = structlog.get_logger("vindibot.server")


class Listener(socket.socket):
    """A listening socket with at most `most` connections, and at most `most_of_address` connections of each address.

    Connections above a limit are closed: the listener must not leave them in the queue, because the event loop would ask for them
    without a pause. `most` may be lowered by `respect_open_files`.
    """

    def __init__(self, family: int, most: int, most_of_address: int) -> None:
        # With the protocol, asyncio turns off the delay of small packets, which would cost 40 ms per ply.
        super().__init__(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self.most = most
        self.addresses = Share(most_of_address)
        self.connections = 0
        self._told = self._paused = False
        self._again = 0.0  # no warning before this time
        self._spare = os.open(os.devnull, os.O_RDONLY)

    def respect_open_files(self) -> None:
        """Lower `most` so that all connections together never use all open files that the system allows this process."""
        room = free_files() - RESERVED_FILES - ANSWERED
        if room < self.most:
            self.most = max(1, room)

    def is_crowded(self, address: str) -> bool:
        """Return whether a limit is exceeded, in all or of this address. Then the connection gets an answer and no game."""
        return self.connections > self.most or self.addresses.exceeds(address)

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection and its address, as `socket.socket` does. Close connections that are far above a limit."""
        try:
            number, address = self._accept()  # type: ignore[attr-defined]  # the method that `socket.socket.accept` calls
        except OSError as problem:
            if problem.errno not in EXHAUSTED:
                raise
            self._tell(problem.strerror or "")
            if self._drop() or self._paused:
                self._paused = False
                raise BlockingIOError from None
            self._paused = True  # the event loop pauses after this error, but it calls this method once more before
            raise
        connection = AcceptedSocket(self, number, network_of(address[0]))
        if self.connections > self.most + ANSWERED or self.addresses.exceeds(connection.address, ANSWERED):
            connection.close()
            if self.connections >= self.most:
                self._tell(f"there are {self.connections} connections")
            raise BlockingIOError  # the event loop asks again in its next round
        return connection, address

    def _drop(self) -> bool:
        """Close the next connection in the queue with the help of the spare descriptor. Return whether this worked."""
        dropped = False
        with suppress(OSError):
            if self._spare >= 0:
                os.close(self._spare)
                self._spare = -1
            os.close(self._accept()[0])  # type: ignore[attr-defined]
            dropped = True
        with suppress(OSError):
            self._spare = os.open(os.devnull, os.O_RDONLY)
        return dropped

    def _tell(self, reason: str) -> None:
        if not self._told:
            self._told, self._again = True, time.monotonic() + QUIET_SECONDS
            _log.warning("new connections are closed until others end", reason=reason, most=self.most)

    def ended(self, address: str) -> None:
        """Count a connection of this address no longer."""
        self.connections -= 1
        self.addresses.give_back(address)
        if self.connections < self.most // 2 and time.monotonic() >= self._again:
            self._told = False

    def close(self) -> None:
        """Close the socket."""
        super().close()
        if self._spare >= 0:
            os.close(self._spare)
            self._spare = -1


class AcceptedSocket(socket.socket):
    """A connection that a listener has accepted. The listener counts it until it is closed. `address` is as in `Share`."""

    def __init__(self, listener: Listener, number: int, address: str) -> None:
        super().__init__(listener.family, listener.type, listener.proto, fileno=number)
        self.address = address
        self._listener: Listener | None = listener
        listener.connections += 1
        listener.addresses.take(address)

    def close(self) -> None:
        """Close the connection."""
        super().close()
        if self._listener is not None:
            self._listener.ended(self.address)
            self._listener = None
