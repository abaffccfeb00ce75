"""A proxy for TCP connections that can hold all data back, as a network does that is gone for a while."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class HoldingProxy:
    """Forwards connections from a port on loopback to `target`. While `holding` is set, no data passes, but nothing is closed."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._passes = threading.Event()
        self._passes.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._sockets: list[socket.socket] = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self) -> None:
        """Let no data pass."""
        self._passes.clear()

    def let_pass(self) -> None:
        """Let all data pass."""
        self._passes.set()

    def close(self) -> None:
        """Close all connections."""
        self._passes.set()
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._listener.accept()
                self._passes.wait()
                there = socket.create_connection(("127.0.0.1", self._target))
                self._sockets += [here, there]
                for pair in ((here, there), (there, here)):
                    threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self._passes.wait()
                target.sendall(data)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
