"""Requests made up from the server's own description of itself: none of them is the server's fault."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings

from tests.support.serving import serving

ADMIN_KEY = "administrator's key"
#: Never ends, or only when four have come.
ENDLESS = r"^/(events/|now-playing|ai/\{user_id\}/now-playing|api/arena)"


@pytest.mark.slow
async def test_no_request_is_the_servers_fault() -> None:
    limits = {"max_games": 100, "max_waiting": 10, "time_limit_ms": 200}
    async with serving(keys="any", admin_key=ADMIN_KEY, **limits) as server:
        answered = await asyncio.to_thread(answers_to_made_up_requests, server.url)
    assert len({line.rsplit(" ", 1)[0] for line in answered}) >= 20
    for line in ("POST /api/training 2xx", "POST /api/admin/matches 4xx", "GET /leagues 2xx", "POST /register 4xx"):
        assert answered[line], answered


def answers_to_made_up_requests(url: str) -> Counter[str]:
    """Send requests of all kinds, and count the answers by method, path and hundreds of the status."""
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
    return answered
