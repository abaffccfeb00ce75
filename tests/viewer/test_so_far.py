"""The game so far below the table of heroes and on the mines, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim.game import MINE, TILE_BITS, Games
from sim.generator import generate
from sim.past import past_of
from sim.rules import step
from tests.support.browser import visiting
from tests.support.recorded import record, states_of
from vindibot.viewer.bundle import bundle_of
from vindibot.viewer.page import whole_page

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_game_so_far_is_that_of_the_views(browser: Any, tmp_path: Path) -> None:
    """`sim.past` counts the same from every fourth state: the turns of one hero."""
    states, path = states_of(4, 480), tmp_path / "game.html"
    path.write_text(whole_page(bundle_of(record(tmp_path, states, 1))))
    async with visiting(browser, path.as_uri()) as page:
        await page.get_by_text("The game so far", exact=True).click()
        skipped = await page.evaluate("vindibotPage.game.turns[0]") - int(states[0]["turn"].item(0))
        for shown in (0, 56, 300, await page.evaluate("vindibotPage.game.last") // 4 * 4):
            await page.evaluate("state => vindibotPage.clock.go(state)", shown)
            rows = await page.locator(".so-far tbody tr").all()
            found = [await row.locator("td").all_text_contents() for row in rows]
            past = past_of(np.concatenate(states[skipped : skipped + shown + 1 : 4]))[0]
            assert found == [
                [
                    str(past["kills"][hero].sum()),
                    str(past["deaths"][hero]),
                    str(past["blows"][hero].sum()),
                    str(past["blows"][:, hero].sum()),
                    str(past["beers"][hero]),
                    str(past["near_tavern"][hero]),
                    *map(taken, past["taken"][hero], [*past["retaken"][hero], 0]),
                ]
                for hero in range(4)
            ]
        for field in ("kills", "deaths", "blows", "beers", "near_tavern", "taken", "retaken"):
            assert past[field].any(), f"this game has no {field}"
        line = "vindibotPage.game.lineFrom(vindibotPage.game.last, [])"
        begun = await page.evaluate(f"Array.from(new vindibotPage.game.constructor({line}).soFar[0])")
        assert begun == await page.evaluate("Array.from(vindibotPage.game.soFar.at(-1))"), "a line goes on from the game"


def taken(mines: int, back: int) -> str:
    """Return the text of the mines that a hero took from another hero, `back` of which it took back."""
    return f"{mines} ({back})" if back else str(mines)


def three_owners() -> list[Games]:
    """Return the states of a game in which a mine has three owners in one ply.

    Its taker kills a hero on whose spawn it stands, and dies there.
    """
    games = generate(2405, size=8, walls=10, mines=9).new_game()
    states = [games.copy()]
    for move in np.random.default_rng(2405).integers(0, 5, 300).tolist():
        step(games, 0, move)
        states.append(games.copy())
    return states


@pytest.mark.parametrize(("states", "hero"), [(states_of(4, 480), 1), (three_owners(), 2)], ids=["a game", "three owners"])
async def test_the_mines_so_far_are_those_of_the_views(browser: Any, tmp_path: Path, states: list[Games], hero: int) -> None:
    """A trait sees every fourth state, on the turns of its hero."""
    path = tmp_path / "game.html"
    path.write_text(whole_page(bundle_of(record(tmp_path, states, hero))))
    tiles = states[0]["cell"][0] & TILE_BITS
    mines = np.flatnonzero((tiles >= MINE) & (tiles <= MINE + 4))
    facts = "(game, state) => game.mineSquares.map((_, index) => Object.values(game.mine(state, index)))"
    async with visiting(browser, path.as_uri()) as page:
        skipped = await page.evaluate("vindibotPage.game.turns[0]") - int(states[0]["turn"].item(0))
        for shown in (0, 56, 300, await page.evaluate("vindibotPage.game.last") // 4 * 4):
            past = past_of(np.concatenate(states[skipped : skipped + shown + 1 : 4]))[0]
            found = await page.evaluate(f"state => ({facts})(vindibotPage.game, state)", shown)
            assert [changes for changes, _ in found] == past["changes"][mines].tolist()
            assert [held or 0 for _, held in found] == past["held"][mines].tolist()
        assert past["changes"].max() > 1, "this game shows too little"
        await page.get_by_label("Fought mines").check()
        line = "vindibotPage.game.lineFrom(vindibotPage.game.last, [])"
        begun = await page.evaluate(f"({facts})(new vindibotPage.game.constructor({line}), 0)")
        assert begun == await page.evaluate(f"({facts})(vindibotPage.game, vindibotPage.game.last)"), (
            "a line goes on from the game"
        )
