"""A Dask worker that joins this machine to a cluster, and joins again whenever the connection is lost."""

from __future__ import annotations

import asyncio
import logging
import platform
import secrets
import tempfile
from collections.abc import Callable
from contextlib import suppress

import dask
from distributed import Worker
from distributed.comm import get_address_host
from distributed.utils import get_ip

from vindibot.arena.settings import ClusterSettings
from vindibot.base import interrupts
from vindibot.base.errors import UsageError
from vindibot.base.orphans import adopt_orphans
from vindibot.base.system import require_children
from vindibot.cluster.access import LOCAL, check_cluster, security
from vindibot.cluster.plugin import NAME_ATTRIBUTE
from vindibot.cluster.scheduler import last_reason

#: Seconds until the next attempt to join: the first and the longest pause.
PAUSES = (1.0, 15.0)
#: Largest number of seconds for an attempt to connect, and for the end of a worker.
CONNECT_TIMEOUT, CLOSE_TIMEOUT = 10.0, 10.0


def join(settings: ClusterSettings, workers: int, name: str, say: Callable[[str], None]) -> None:
    """Play games for the scheduler at `settings.address`, at most `workers` at once, until SIGINT, SIGTERM or SIGHUP comes.

    `name` is the name of this machine in results (empty: the name of the host). `say` gets lines of text for people. Raises
    `UsageError` as `check_cluster` does.
    """
    if settings.address == LOCAL:
        raise UsageError(f"{LOCAL} is for `vindibot arena` only: name the scheduler to join, tcp://HOST:PORT or tls://HOST:PORT")
    require_children()
    check_cluster(settings)
    adopt_orphans()
    logging.getLogger("distributed").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="vindibot-cluster-", ignore_cleanup_errors=True) as folder:
        asyncio.run(_stay_joined(settings, workers, name or platform.node(), folder, say))


async def _stay_joined(settings: ClusterSettings, workers: int, name: str, folder: str, say: Callable[[str], None]) -> None:
    ended = asyncio.Event()
    with interrupts.calling(ended.set, asyncio.get_running_loop()):
        pause, told = PAUSES[0], ""
        while not ended.is_set():
            try:
                worker = await asyncio.wait_for(_start(settings, workers, name, folder), CONNECT_TIMEOUT)
            except (OSError, TimeoutError, RuntimeError, ValueError, KeyError) as problem:
                text = f"no scheduler answers at {settings.address}; trying again ({last_reason(problem)})"
                if text != told:
                    say(text)
                    told = text
                with suppress(TimeoutError):
                    await asyncio.wait_for(ended.wait(), pause)
                pause = min(2 * pause, PAUSES[1])
                continue
            pause, told = PAUSES[0], ""
            say(f"{name} has joined {settings.address} and plays {workers} at once; Ctrl-C leaves")
            leaving = asyncio.ensure_future(ended.wait())
            finished = asyncio.ensure_future(worker.finished())
            await asyncio.wait((leaving, finished), return_when=asyncio.FIRST_COMPLETED)
            leaving.cancel()
            with suppress(Exception):
                await asyncio.wait_for(worker.close(timeout=CLOSE_TIMEOUT, executor_wait=False), 2 * CLOSE_TIMEOUT)
            if not ended.is_set():
                say("the connection to the scheduler is lost")


async def _start(settings: ClusterSettings, workers: int, name: str, folder: str) -> Worker:
    """Return a worker that has joined the scheduler.

    The worker listens only on the address with which this machine reaches the scheduler.
    """
    host = get_ip(get_address_host(settings.address))
    with dask.config.set({"distributed.worker.profile.enabled": False}):
        worker = Worker(
            settings.address,
            nthreads=workers,
            name=f"{name}/{secrets.token_hex(4)}",
            host=host,
            security=security(settings),
            memory_limit=0,
            local_directory=folder,
            dashboard_address="127.0.0.1:0",
        )
        setattr(worker, NAME_ATTRIBUTE, name)
        try:
            return await worker
        except BaseException:
            with suppress(Exception):
                await worker.close(timeout=1.0, executor_wait=False)
            raise
