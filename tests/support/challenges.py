"""A host of challenges in the event loop of a test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support.serving import MAP
from vindibot.challenge.command import LOOPBACK, serving
from vindibot.challenge.host import Host
from vindibot.challenge.offers import Offers
from vindibot.challenge.settings import ChallengeSettings
from vindibot.games import Continuation
from vindibot.server import EmbeddedServer

NASTY = "<img src=x onerror=boom()>"


@asynccontextmanager
async def hosting(
    folder: Path, bots: Sequence[str] = ("stay",), start: Continuation | None = None, **settings: Any
) -> AsyncIterator[tuple[Host, EmbeddedServer, Any]]:
    """Yield a host whose bots run in this process, its server, and a client for its page. Games may go on from `start`."""
    (folder / "map.txt").write_text(MAP)
    given = {"map": str(folder / "map.txt"), "pool": {"in_process": True}, "recording": {"folder": folder / "recordings"}}
    notes: list[str] = []
    host = Host(ChallengeSettings(**given | settings), Offers(bots, given["map"], start), notes.append)
    async with serving(host, LOOPBACK) as server, httpx.AsyncClient(base_url=server.url, timeout=30) as client:
        host.notes = notes
        yield host, server, client
