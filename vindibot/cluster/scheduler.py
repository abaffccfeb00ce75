"""The connection of a tournament to the scheduler of Dask."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Any

from distributed import Client, LocalCluster

from vindibot.arena.settings import ClusterSettings
from vindibot.base.errors import VindibotError
from vindibot.cluster.access import LOCAL, security
from vindibot.cluster.plugin import PREFIX

#: Seconds within which the scheduler must answer.
ANSWER_SECONDS = 10.0
#: Largest number of seconds to reach the scheduler, and to release the machines at the end.
CONNECT_SECONDS, RELEASE_SECONDS = 10.0, 10.0


class _ClusterClient(Client):  # type: ignore[misc]  # Dask has no types
    """A client of Dask without a destructor. The destructor would close it after the end of the loop, and print a traceback."""

    def __del__(self) -> None:
        """Do nothing."""


class Scheduler:
    """The scheduler of Dask at the address of `settings`, and the connection to it. Use it in one event loop.

    `tournament` is a part of the keys of all calls, so that calls of several tournaments differ.
    """

    def __init__(self, settings: ClusterSettings) -> None:
        self._settings = settings
        self._address: Any = settings.address
        self._client: Any = None
        self._answered = 0.0  # by our monotonic clock
        self.tournament = secrets.token_hex(8)

    async def start_local(self, stack: contextlib.AsyncExitStack, workers: int) -> None:
        """If the address is "local", start a scheduler and a Dask worker in this process, which end with `stack`.

        Others cannot reach their ports. `workers` is the number of games at once.
        """
        if self._settings.address == LOCAL:
            self._address = await stack.enter_async_context(
                LocalCluster(
                    n_workers=1,
                    threads_per_worker=workers,
                    processes=False,
                    asynchronous=True,
                    memory_limit=0,
                    dashboard_address="127.0.0.1:0",
                    worker_dashboard_address="127.0.0.1:0",
                )
            )

    async def connect(self) -> None:
        """Connect to the scheduler. Raises `VindibotError`."""
        try:
            self._client = _ClusterClient(
                self._address, security=security(self._settings), asynchronous=True, set_as_default=False, timeout=CONNECT_SECONDS
            )
            await _within(CONNECT_SECONDS + 1, self._client)
        except (OSError, TimeoutError, ValueError) as problem:
            await self.close()
            words = f"no scheduler answers at {self._settings.address}: start one with dask scheduler (docs/cluster.md)"
            raise VindibotError(f"{words}; {last_reason(problem)}", 2) from None
        self._answered = time.monotonic()

    async def close(self) -> None:
        """Close the connection, if there is one."""
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(Exception):
                await _within(RELEASE_SECONDS, client.close())

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection. It may be broken already."""
        return self._client is not None and self._client.status == "running"

    @property
    def is_gone(self) -> bool:
        """Whether the connection is broken, or the scheduler has not answered for a long time."""
        return not self.is_connected or time.monotonic() - self._answered > self._settings.lost_s

    async def workers(self) -> dict[str, dict[str, Any]] | None:
        """Return what the scheduler tells about its workers, by address. Return None if it does not answer."""
        try:
            identity = await _within(ANSWER_SECONDS, self._client.scheduler.identity(n_workers=-1))
        except (OSError, TimeoutError, RuntimeError):
            return None
        self._answered = time.monotonic()
        workers: dict[str, dict[str, Any]] = identity["workers"]
        return workers

    def submit(self, address: str, function: Callable[..., Any], *args: Any, name: str = "") -> Any:
        """Let the Dask worker at `address` call a function with the tournament and `args`. Return Dask's future of the result.

        `name` is the name of a game. Calls without it have a higher priority.
        """
        key = f"{PREFIX}{self.tournament}-{name or function.__name__}-{secrets.token_hex(4)}"
        return self._client.submit(
            function,
            self.tournament,
            *args,
            key=key,
            workers=[address],
            allow_other_workers=False,
            pure=False,
            retries=0,
            priority=not name,
        )

    async def call_all(self, addresses: list[str], function: Callable[..., Any]) -> None:
        """Let the Dask workers at these addresses call a function. Wait at most `RELEASE_SECONDS`, and ignore errors."""
        if self.is_connected:
            calls = [self.submit(address, function) for address in addresses]
            with contextlib.suppress(Exception):
                await _within(RELEASE_SECONDS, asyncio.gather(*calls, return_exceptions=True))


async def _within(seconds: float, work: Awaitable[Any]) -> Any:
    """Return the result of `work`. Raises `TimeoutError` after this number of seconds.

    Unlike `asyncio.wait_for`, it does not wait for the end of the cancelled `work`, because Dask may ignore the cancellation.
    """
    task = asyncio.ensure_future(work)
    done, _ = await asyncio.wait((task,), timeout=seconds)
    if not done:
        task.cancel()
        raise TimeoutError
    return task.result()


def last_reason(problem: BaseException) -> str:
    """Return the reason at the end of the chain of causes, as text."""
    while problem.__cause__ is not None and not isinstance(problem.__cause__, asyncio.CancelledError):
        problem = problem.__cause__
    return str(problem) or type(problem).__name__
