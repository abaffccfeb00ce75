"""Requests made up from the server's own description of itself: none of them is the server's fault."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings

from vindibot.league.server import LeagueServer
from vindibot.league.settings import LeagueServerSettings

ADMIN_KEY = "administrator's key"
#: Never ends, or only when four have come.
ENDLESS = r"^/(events/|now-playing|ai/\{user_id\}/now-playing|api/arena)"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server in a thread of its own, where any bot may play."""
    started = threading.Event()
    found: dict[str, Any] = {}

    async def serve() -> None:
        found["loop"], found["stop"] = asyncio.get_running_loop(), asyncio.Event()
        limits = {"max_games": 100, "max_waiting": 10, "time_limit_ms": 200}
        async with LeagueServer(LeagueServerSettings(keys="any", admin_key=ADMIN_KEY, **limits)) as server:
            found["url"] = server.url
            started.set()
            await found["stop"].wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert started.wait(60)
    yield found["url"]
    found["loop"].call_soon_threadsafe(found["stop"].set)
    thread.join(20)


@pytest.mark.slow
def test_no_request_is_the_servers_fault(url: str) -> None:
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json").exclude(path_regex=ENDLESS)
    answered: Counter[str] = Counter()
    session = requests.Session()
    for result in schema.get_all_operations():
        operation = result.ok()

        @settings(max_examples=40, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
        @given(case=operation.as_strategy())
        def check(case: schemathesis.Case) -> None:
            for headers in ({}, {"Authorization": f"Bearer {ADMIN_KEY}"}) if "/admin/" in case.path else ({},):
                response = case.call(headers=headers, timeout=10, session=session)
                full = response.status_code == 503 and "Retry-After" in response.headers
                assert response.status_code < 500 or full, (case.as_curl_command(), response.status_code, response.text)
                answered[f"{case.method} {case.path} {response.status_code // 100}xx"] += 1

        check()
    assert len({line.rsplit(" ", 1)[0] for line in answered}) >= 20
    for line in ("POST /api/training 2xx", "POST /api/admin/matches 4xx", "GET /leagues 2xx", "POST /register 4xx"):
        assert answered[line], answered
