"""The review of a game in its page: moves and their gold, the worst moves, and what would have happened after another move."""

from __future__ import annotations

from typing import Any

import pytest

from sim.game import DIRECTIONS
from tests.support.browser import PHONE, until, visiting
from tests.support.reviewed import BAD, TURNS, WORST, heroes_after
from tests.viewer.conftest import turn_of
from vindibot.games.files.review import Losses

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture(scope="module")
def address(reviewed: str) -> str:
    return reviewed


async def shown_heroes(page: Any) -> list[tuple[int, ...]]:
    """Return life, gold and mines in the table."""
    rows = await page.evaluate(
        "[...document.querySelectorAll('.heroes tbody tr')].map((row) => [...row.cells].slice(1, 4).map((c) => +c.textContent))"
    )
    return [tuple(row) for row in rows]


async def test_the_address_of_a_turn_shows_its_review(visit: Any, address: str) -> None:
    worst = WORST[0]
    await visit.goto("about:blank")
    await visit.goto(f"{address}#turn={worst.turn}")
    await visit.get_by_role("heading", name=f"Review of turn {worst.turn}").wait_for()
    words = await visit.locator(".review .verdict").inner_text()
    assert f"{worst.move} was a {worst.mark}. It lost {worst.loss:.0f} ±" in words
    assert f"against {worst.best} ({worst.kind})" in words
    arrows = await visit.evaluate("vindibotPage.board.marks.arrows.map(({ direction }) => direction)")
    assert [DIRECTIONS[direction] for direction in arrows] == [worst.best, worst.move]
    rows = await visit.locator(".options tbody tr").evaluate_all("rows => rows.map((row) => Number(row.dataset.move))")
    assert [DIRECTIONS[row] for row in rows] == [value.move for value in sorted(worst.values, key=lambda value: value.less)]
    best, *others = await visit.locator(".options tbody tr").all_inner_texts()
    assert "best" in best
    assert [f"{worst.loss:.0f} ± {worst.loss_error:.1f}" in row for row in others if "played" in row] == [True]


async def test_the_list_of_the_worst_moves_leads_to_them(page: Any) -> None:
    rows = page.get_by_role("listbox", name="Worst moves").get_by_role("option")
    assert await rows.count() == len(WORST)
    await rows.nth(2).click()
    assert await turn_of(page) == WORST[2].turn
    await page.keyboard.press("ArrowUp")
    assert await turn_of(page) == WORST[1].turn
    assert await rows.nth(1).get_attribute("aria-selected") == "true"
    await page.keyboard.press("Home")
    assert await page.locator(".list-worst [aria-selected=true]").count() == 0


async def test_the_gold_lost_is_that_of_the_report(page: Any) -> None:
    losses = Losses.of(TURNS, 192)
    assert f"1 brawler: mean loss per move {losses.per_move():.2f} gold" in await page.locator(".review .chips").inner_text()
    words = await page.locator(".review .kinds").inner_text()
    for kind, lost in losses.kinds.items():
        shown = f"{lost:.0f}" if lost >= 10 else f"{lost:.1f}"
        assert (f"{kind} {shown}" in words) == bool(lost)


@pytest.mark.slow_pages
async def test_a_key_goes_from_bad_move_to_bad_move(page: Any) -> None:
    shown = []
    for _ in BAD:
        await page.keyboard.press("b")
        shown.append(await turn_of(page))
    assert shown == [one.turn for one in BAD]
    await page.keyboard.press("b")
    assert "no later bad move" in await page.locator(".said").inner_text()
    await page.keyboard.press("Shift+B")
    assert await turn_of(page) == BAD[-2].turn
    assert await page.get_by_role("listbox", name="Events").get_by_text(BAD[-2].mark).count() > 0


@pytest.mark.parametrize(("key", "which"), [("p", "best"), ("q", "played")])
async def test_what_would_have_happened(page: Any, key: str, which: str) -> None:
    one = BAD[0]
    line = one.best_line if which == "best" else one.played_line
    await page.keyboard.press("b")
    before = await shown_heroes(page)
    await page.keyboard.press(key)
    await page.get_by_text(f"What would have happened after {one.best if which == 'best' else one.move}").first.wait_for()
    await page.keyboard.press("Home")
    assert await shown_heroes(page) == before
    for _ in range(9):
        await page.keyboard.press("ArrowRight")
    assert await shown_heroes(page) == heroes_after(one, line, 9)
    await page.keyboard.press("End")
    assert await shown_heroes(page) == heroes_after(one, line, len(line))
    assert await turn_of(page) == one.turn, "the game stays where it is"
    await page.keyboard.press("Escape")
    assert await shown_heroes(page) == before
    assert await page.locator(".line-transport").count() == 0
    await page.keyboard.press("ArrowRight")
    assert await turn_of(page) == one.turn + 1


async def test_a_line_plays_and_the_button_goes_back(page: Any) -> None:
    await page.keyboard.press("b")
    way = page.get_by_role("button", name="What would have happened after")
    await way.click()
    await until(page, "vindibotPage.line.clock.state >= 3")
    assert await way.get_attribute("aria-pressed") == "true"
    assert await page.locator(".transport:visible").count() == 1
    await page.get_by_role("button", name="Back to the game").click()
    assert await page.evaluate("vindibotPage.line") is None
    assert await page.locator(".transport:visible").count() == 1
    assert await way.get_attribute("aria-pressed") == "false"


async def test_a_jump_leaves_the_line(page: Any) -> None:
    await page.keyboard.press("b")
    for act in ("b", "click"):
        await page.keyboard.press("p")
        assert await page.evaluate("Boolean(vindibotPage.line)")
        if act == "b":  # the keys of the line come first, this one is of the game
            await page.keyboard.press("b")
        else:
            await page.get_by_role("listbox", name="Worst moves").get_by_role("option").first.click()
        assert await page.evaluate("vindibotPage.line") is None
    assert await turn_of(page) == WORST[0].turn


async def test_a_turn_without_a_line_says_so(page: Any) -> None:
    fine = next(one for one in TURNS if not one.mark)
    await page.goto(page.url.partition("#")[0] + f"#turn={fine.turn}")
    await until(page, f"vindibotPage.review.turn?.turn === {fine.turn}")
    await page.keyboard.press("p")
    assert "no line of this turn" in await page.locator(".said").inner_text()


async def test_the_list_is_about_the_selected_hero(page: Any) -> None:
    await page.keyboard.press("2")
    assert await page.get_by_text("No move lost gold that counts.").is_visible()
    assert await page.get_by_text("This turn was not reviewed.").is_visible()
    await page.keyboard.press("1")
    assert await page.get_by_role("listbox", name="Worst moves").get_by_role("option").count() == len(WORST)


async def test_marks_are_the_worst_moves_of_parts_of_the_game(page: Any) -> None:
    marked = await page.evaluate("vindibotPage.game.marked.map(({ turn }) => turn)")
    parts: dict[int, int] = {}
    for one in WORST:
        parts.setdefault(60 * one.turn // 192, one.turn)
    assert sorted(marked) == sorted(parts.values())
    assert marked[-1] == WORST[0].turn, "the worst is drawn over the others"


async def test_the_expected_gold_is_a_curve(page: Any) -> None:
    await page.keyboard.press("End")
    plot = page.get_by_role("img", name="Expected gold of the four heroes at the end, over time")
    await plot.hover(position={"x": 60, "y": 20})
    one = TURNS[1]
    gold = await page.evaluate(f"vindibotPage.charts._expectedAt(vindibotPage.game.turns.indexOf({one.turn}))")
    assert [int(value) for value in gold.split(" · ")] == [int(value + 0.5) for value in one.value(one.move).gold]
    assert "turn" in await page.locator(".chart-expected .hint").inner_text()


async def test_on_a_phone_the_buttons_of_a_line_are_in_reach(browser: Any, address: str) -> None:
    async with visiting(browser, f"{address}#turn={BAD[0].turn}", size=PHONE) as page:
        await page.get_by_role("button", name="What would have happened after").click()
        for name in ("Back to the game", "A ply on", "A ply back"):
            box = await page.get_by_role("button", name=name).and_(page.locator(":visible")).bounding_box()
            assert 0 <= box["x"]
            assert box["x"] + box["width"] <= PHONE[0]
            assert 0 <= box["y"]
            assert box["y"] + box["height"] <= PHONE[1]
        assert await page.evaluate("document.querySelector('.stage').getBoundingClientRect().top") >= 0, "the board is in view"
        assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
