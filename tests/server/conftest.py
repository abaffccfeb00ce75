"""One server for all tests of a module that do not set anything on it. Such tests run in the loop of their module."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.support.serving import serving
from vindibot.server.embedded import EmbeddedServer


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[EmbeddedServer]:
    async with serving() as running:
        yield running
