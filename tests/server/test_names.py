"""Names of bots, and how many may be registered, over real sockets."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from hypothesis import given, strategies as st

from tests.support.serving import MAP, serving
from vindibot.base.errors import UsageError
from vindibot.base.text import unseen_character
from vindibot.server.admin.roster import roster_from_csv
from vindibot.server.embedded import EmbeddedServer
from vindibot.server.users import name_problem

#: A name with it, and how the character is called.
UNSEEN = [("ab\u202ecd", "U+202E"), ("abc\x1b[31m", "U+001B"), ("\u3164\u3164\u3164", "U+3164")]


@pytest.mark.parametrize(("name", "code"), UNSEEN)
async def test_a_name_with_an_unseen_character_is_refused_wherever_it_comes_from(name: str, code: str) -> None:
    says = f"Name has an invisible character: {code}"
    async with serving(admin_key="administrator's key") as server, httpx.AsyncClient(base_url=server.url) as client:
        page = await client.post("/register", data={"name": name})
        assert page.status_code == 400
        assert says in page.text
        client.headers["Authorization"] = "Bearer administrator's key"
        for path, body in [
            ("/api/admin/bots", ["good", name]),
            ("/api/admin/leagues", {"name": "cup", "settings": {}, "roster": ["good", name]}),
        ]:
            answer = await client.post(path, json=body)
            assert answer.status_code == 400
            assert says in answer.text
        assert len(server.lobby.users) == 0
    with pytest.raises(UsageError, match=r"line \d: Name"):
        roster_from_csv(f'name,key\n"{name}",k3yk3yk3\n')


@given(st.text(min_size=3, max_size=20))
def test_a_name_is_refused_for_what_can_be_said_of_it(name: str) -> None:
    problem = name_problem(name)
    if problem is None:
        assert name.isprintable()
        assert name.strip() == name
    else:
        assert problem.isprintable()
        assert unseen_character(problem) is None


@pytest.mark.parametrize("name", ["Ünïcode ☃ bot", "小明的机器人", "🤖 bot", "d'Arc <3", "e\u0301tude", "بوت", " abc", "abc "])
def test_names_in_any_script_are_fine_without_blanks_at_their_ends(name: str) -> None:
    assert name_problem(name) == (None if name == name.strip() else "Name begins or ends with a space")


# ---- How many ----


async def register(server: EmbeddedServer, name: str, address: str = "127.0.0.1") -> httpx.Response:
    """Register from one of this machine's many addresses."""
    async with httpx.AsyncClient(base_url=server.url, transport=httpx.AsyncHTTPTransport(local_address=address)) as client:
        return await client.post("/register", data={"name": name})


async def test_registrations_are_limited_by_address_and_in_all() -> None:
    async with serving(registrations_per_address=3, registrations_per_minute=4) as server:
        assert (await register(server, "ab")).status_code == 400  # counts nothing
        statuses = [(await register(server, f"bot{number}")).status_code for number in range(3)]
        assert statuses == [200] * 3
        refused = await register(server, "bot3")
        assert refused.status_code == 429
        assert 1 <= int(refused.headers["retry-after"]) <= 20
        assert "Too many registrations from your address, try again in" in refused.text
        assert "<form" in refused.text
        assert (await register(server, "bot3", "127.0.0.2")).status_code == 200
        refused = await register(server, "bot4", "127.0.0.3")
        assert (refused.status_code, "Too many registrations, try again in" in refused.text) == (429, True)
        assert len(server.lobby.users) == 4
    async with serving(max_bots=2) as server:
        assert (await register(server, "bot0")).status_code == 200
        server.register("bot1")
        refused = await register(server, "bot2")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "3600")


async def test_unknown_keys_are_registrations_too_and_known_ones_are_not() -> None:
    async with serving(keys="any", registrations_per_address=2) as server, httpx.AsyncClient(base_url=server.url) as client:
        statuses = []
        for key in ("aaaaaaaa", "bbbbbbbb", "cccccccc", "aaaaaaaa", "dddddddd", "bbbbbbbb"):
            answer = await client.post("/api/training", data={"key": key, "turns": 1})
            statuses.append(answer.status_code)
            assert answer.status_code == 200 or "Vindinium - Too many registrations from your address" in answer.text
        assert statuses == [200, 200, 429, 200, 429, 200]
        assert len(server.lobby.users) == 2


async def test_a_new_key_is_one_registration_however_many_joins_bring_it() -> None:
    settings = {"keys": "any", "registrations_per_address": 1, "heroes_per_key": 80}
    async with serving(**settings) as server, httpx.AsyncClient(base_url=server.url, timeout=30) as client:
        joins = [client.post("/api/training", data={"key": "abcdefgh", "map": MAP}) for _ in range(80)]
        assert {answer.status_code for answer in await asyncio.gather(*joins)} == {200}
        assert len(server.lobby.users) == 1
        refused = await client.post("/api/training", data={"key": "ijklmnop"})
        assert refused.status_code == 429
