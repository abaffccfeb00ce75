"""A recorded game in its page, for the tests of the page."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from functools import cache
from typing import Any

import pytest
import pytest_asyncio

from sim.game import Games
from tests.support.browser import visiting
from tests.support.recorded import record, states_of
from tests.support.reviewed import SAMPLE
from vindibot.viewer.bundle import bundle_of
from vindibot.viewer.page import whole_page
from vindibot.viewer.replay import replay_file

#: A name that is everything a page must not take for what it looks like.
NASTY = "<img src=x onerror=alert(1)>"
#: Turns of ours that the recording lacks.
LOST = frozenset({100, 104})


@cache
def states() -> list[Games]:
    """A game of random moves with many events."""
    return states_of(4, 480)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    bundle = bundle_of(record(tmp_path_factory.mktemp("game"), states(), 1, without=LOST))
    bundle["players"][1]["name"] = NASTY
    for number, turn in enumerate(bundle["why"]["turns"]):
        turn["votes"][2] |= {"score": number - 50, "goal": 5}
    return json.loads(json.dumps(bundle))


@pytest.fixture(scope="module")
def address(bundle: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "game.html"
    path.write_text(whole_page(bundle))
    return path.as_uri()


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page with a review."""
    return replay_file(SAMPLE, tmp_path_factory.mktemp("page") / "game.html").as_uri()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def visit(browser: Any, address: str) -> AsyncIterator[Any]:
    async with visiting(browser, address) as page:
        yield page


@pytest_asyncio.fixture(loop_scope="session")
async def page(visit: Any, address: str) -> Any:
    """The page, newly opened."""
    await visit.goto("about:blank")  # with its address alone, the page would only change the turn
    await visit.goto(address)
    return visit


async def state(page: Any) -> int:
    """Return the number of the state that the page shows."""
    return int(await page.get_by_label("Time", exact=True).and_(page.locator("input")).input_value())


async def turn_of(page: Any) -> int:
    """Return the turn that the game's controls show."""
    return int(await page.evaluate("vindibotPage.game.turns[vindibotPage.clock.state]"))


def happened(bundle: dict[str, Any], *kinds: str) -> list[int]:
    """Return the states after the events of these kinds."""
    return [k for k, ply in enumerate(bundle["plies"], 1) if any(event[0] in kinds for event in ply.get("e", []))]
