"""The mode "learn from mistakes": it hides the answer, asks for a move by keys or touch, says its worth, and goes on."""

from __future__ import annotations

from typing import Any

import pytest

from sim.game import DIRECTIONS
from tests.support.axe import violations
from tests.support.browser import DESKTOP, PHONE, visiting
from tests.support.reviewed import WORST
from tests.viewer.conftest import turn_of

pytestmark = pytest.mark.asyncio(loop_scope="session")
KEYS = (".", "ArrowUp", "ArrowDown", "ArrowRight", "ArrowLeft")


@pytest.mark.slow_pages
async def test_by_keys_from_the_first_position_to_the_result(browser: Any, reviewed: str) -> None:
    async with visiting(browser, reviewed, size=DESKTOP) as page:
        await page.keyboard.press("y")
        lesson = page.get_by_role("region", name="Learn from mistakes")
        verdict = lesson.get_by_role("status")
        lost = 0.0
        for number, one in enumerate(WORST, start=1):
            assert f"Position {number} of {len(WORST)}, turn {one.turn}." in await lesson.inner_text()
            assert await turn_of(page) == one.turn
            assert await verdict.inner_text() == ""
            for name in ("Review", "Why", "Events"):
                assert await page.get_by_role("heading", name=name).count() == 0, "nothing shows the answer"
            arrows = await page.evaluate("vindibotPage.board.marks?.arrows?.length ?? 0")
            assert arrows == 0
            wanted = one.best if number % 2 else one.move
            await page.keyboard.press(KEYS[DIRECTIONS.index(wanted)])
            said = await verdict.inner_text()
            if number % 2:
                assert said.startswith(f"{one.best} is the best move. The hero played {one.move}, a")
            else:
                lost += one.loss
                assert said.startswith(f"{one.move} loses")
                assert f"against {one.best}. The hero played the same move" in said
            if one.kind:
                assert f"({one.kind})" in said
            assert await page.evaluate("vindibotPage.board.marks.arrows.length") > 0
            await page.keyboard.press("ArrowUp")
            assert await verdict.inner_text() == said, "a position has one answer"
            await page.keyboard.press("Enter")
        result = await verdict.inner_text()
        assert f"in {(len(WORST) + 1) // 2} of {len(WORST)} positions" in result
        assert f"Your moves lost {lost:.0f} gold" in result
        await page.keyboard.press("Escape")
        assert await lesson.count() == 0
        await page.get_by_role("heading", name="Review").first.wait_for()


@pytest.mark.slow_pages
async def test_by_touch_on_a_phone(browser: Any, reviewed: str) -> None:
    async with visiting(browser, reviewed, size=PHONE, has_touch=True, bypass_csp=True) as page:
        await page.get_by_role("button", name="Learn from mistakes").tap()
        one = WORST[0]
        group = page.get_by_role("group", name="Your move")
        shown = {value.move for value in one.values}
        for name in DIRECTIONS:
            button = group.get_by_role("button", name=name)
            assert await button.is_disabled() == (name not in shown)
            box = await button.bounding_box()
            assert box["height"] >= 30
        assert await violations(page, "dark") == []
        await group.get_by_role("button", name=one.best).tap()
        assert "is the best move" in await page.locator(".lesson-verdict").inner_text()
        await page.get_by_role("button", name="Next position").tap()
        assert "Position 2" in await page.locator(".question").inner_text()
        assert await violations(page, "dark") == []
        await page.get_by_role("button", name="Back to the game").tap()
        assert await page.locator(".lesson").count() == 0


async def test_only_the_moves_of_the_chosen_hero(browser: Any, reviewed: str) -> None:
    async with visiting(browser, reviewed, size=DESKTOP) as page:
        await page.keyboard.press("4")
        assert await page.get_by_role("button", name="Learn from mistakes").count() == 0
        await page.keyboard.press("y")
        assert await page.locator(".lesson").count() == 0
