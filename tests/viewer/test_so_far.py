"""The game so far below the table of heroes, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim.past import past_of
from tests.support.browser import visiting
from tests.support.recorded import record, states_of
from vindibot.viewer.bundle import bundle_of
from vindibot.viewer.page import whole_page

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_game_so_far_is_that_of_the_views(browser: Any, tmp_path: Path) -> None:
    """`sim.past` counts the same from the states."""
    states, path = states_of(4, 480), tmp_path / "game.html"
    path.write_text(whole_page(bundle_of(record(tmp_path, states, 1))))
    first = int(states[0]["turn"].item(0))
    async with visiting(browser, path.as_uri()) as page:
        await page.get_by_text("The game so far", exact=True).click()
        begin = await page.evaluate("vindibotPage.game.turns[0]")
        for shown in (0, 57, 300, await page.evaluate("vindibotPage.game.last")):
            await page.evaluate("state => vindibotPage.clock.go(state)", shown)
            rows = await page.locator(".so-far tbody tr").all()
            found = [[int(text) for text in await row.locator("td").all_text_contents()] for row in rows]
            past = past_of(np.concatenate(states[begin - first : begin - first + shown + 1]))[0]
            assert found == [
                [
                    int(past["kills"][hero].sum()),
                    int(past["deaths"][hero]),
                    int(past["blows"][hero].sum()),
                    int(past["blows"][:, hero].sum()),
                    int(past["beers"][hero]),
                    *past["taken"][hero].tolist(),
                ]
                for hero in range(4)
            ]
        assert np.sum(found, axis=0).all(), "this game shows too little"
        line = "vindibotPage.game.lineFrom(vindibotPage.game.last, [])"
        begun = await page.evaluate(f"Array.from(new vindibotPage.game.constructor({line}).soFar[0])")
    assert begun == np.concatenate(found).tolist(), "a line goes on from the game"
