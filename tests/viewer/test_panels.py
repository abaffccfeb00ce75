"""The panels of a game's page in a real browser: events, votes, overlays, names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sim.game import RUNNING, square
from sim.paths import FAR, distances_from
from tests.viewer.conftest import happened, state, states

pytestmark = pytest.mark.asyncio(loop_scope="session")

#: The numbers of some cells.
VALUES = "cells => cells.map((cell) => Number(cell.dataset.value))"
#: Whether each bar is below the number of its cell.
BARS_BELOW = """cells => cells.map((cell) => {
    const text = document.createRange(), bar = cell.querySelector('.bar').getBoundingClientRect();
    text.selectNodeContents(cell.querySelector('.value'));
    const { bottom, height } = text.getBoundingClientRect();
    return bar.height >= 3 && bar.top >= bottom - height / 5 && bar.bottom <= cell.getBoundingClientRect().bottom;
})"""
#: Whether a layer of the board has anything.
DRAWN = """(layer) => {
    const canvas = document.querySelector(`.layer-${layer}`), { width, height } = canvas;
    const copy = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    return copy.getImageData(0, 0, width, height).data.some(Boolean);
}"""


async def test_the_list_of_events_by_mouse_and_keyboard(page: Any, bundle: dict[str, Any]) -> None:
    for kind in ("late", "close", "death", "mine"):
        await page.get_by_role("checkbox", name=kind, exact=False).and_(page.locator(".jump input")).uncheck()
    rows = page.locator(".list [role=option]")
    kills = happened(bundle, "kill")
    assert await rows.evaluate_all("rows => rows.map((row) => Number(row.dataset.state))") == kills
    await rows.nth(3).click()
    assert await state(page) == kills[3]
    assert "kills" in await rows.nth(3).inner_text()
    await page.get_by_role("listbox").focus()
    for key, at in (("ArrowDown", 4), ("ArrowDown", 5), ("ArrowUp", 4)):
        await page.keyboard.press(key)
        assert await state(page) == kills[at]
        assert await rows.nth(at).get_attribute("aria-selected") == "true"
        assert await page.locator(".list [aria-selected=true]").count() == 1
    await page.evaluate(f"vindibotPage.clock.halt({kills[9] + 1})")
    assert await rows.nth(9).get_attribute("aria-selected") == "true"
    await page.get_by_role("checkbox", name="mine", exact=False).and_(page.locator(".jump input")).check()
    assert await rows.count() > len(kills)


async def test_late_and_close_decisions_are_events(page: Any, bundle: dict[str, Any]) -> None:
    """In this recording the search is late in each turn. The decision between 1.0 and 0.0 is not close."""
    assert await page.evaluate("vindibotPage.game.events.late.length") == len(bundle["why"]["turns"])
    assert await page.evaluate("vindibotPage.game.events.close.length") == 0
    close = """(sums) => vindibotModules['game/decisions.js'].isClose(
        { move: 0, sums, candidates: [0, 1, 2], votes: [], left_ms: 5 })"""
    answers = [await page.evaluate(close, sums) for sums in ([1, 0.96, 0], [1, 0.94, 0], [1, 1, 0], [1, 1, 1], [0, 0, -5])]
    assert answers == [True, False, True, False, True]
    await page.keyboard.press("o")
    assert await state(page) == bundle["why"]["turns"][1]["ply"]


# ---- Why ----


async def test_the_panel_shows_the_votes_of_the_recording(page: Any, bundle: dict[str, Any]) -> None:
    directions = ["Stay", "North", "South", "East", "West"]
    for turn in (bundle["why"]["turns"][0], bundle["why"]["turns"][7], bundle["why"]["turns"][-1]):
        await page.evaluate(f"vindibotPage.clock.halt({turn['ply'] + 1})")
        panel = page.locator(".why")
        assert await panel.locator("h2").inner_text() == f"Why {directions[turn['move']]} on turn {turn['turn']}?"
        rows = await panel.locator("tbody tr").all()
        assert len(rows) == len(turn["votes"])
        for row, vote in zip(rows, turn["votes"], strict=True):
            assert await row.locator(".trait").inner_text() == vote["trait"]
            values = await row.locator("td[data-value]").evaluate_all(VALUES)
            wanted = [vote["votes"][move] * vote["weight"] for move in turn["candidates"]] if vote["votes"] else []
            assert values == pytest.approx(wanted)
            assert await row.locator(".ms").get_attribute("data-ms") == str(vote["ms"])
            badges = await row.locator(".badge").all_inner_texts()
            assert badges == ([] if vote["status"] == "ok" else [vote["status"]])
        assert set(await panel.locator("td:has(.bar):has(.value)").evaluate_all(BARS_BELOW)) == {True}
        sums = await panel.locator("tfoot td[data-value]").evaluate_all(VALUES)
        assert sums == pytest.approx([turn["sums"][move] for move in turn["candidates"]])
        assert await panel.locator("tfoot .ms").inner_text() == "slowest 700"
        chips = await panel.locator(".chips").inner_text()
        assert f"{int(turn['left_ms'] + 0.5)} ms left" in chips
        assert "just played" in chips


async def test_a_direction_can_be_compared(page: Any, bundle: dict[str, Any]) -> None:
    turn = bundle["why"]["turns"][3]
    await page.evaluate(f"vindibotPage.clock.halt({turn['ply']})")
    await page.get_by_role("button", name="North").click()
    lead = float(await page.locator(".verdict").get_attribute("data-lead"))
    assert lead == pytest.approx(turn["sums"][turn["move"]] - turn["sums"][1])
    assert await page.get_by_role("button", name="East").is_disabled()  # no candidate


async def test_a_gap_is_shown_as_a_gap(page: Any, bundle: dict[str, Any]) -> None:
    (gap,) = [k for k, ply in enumerate(bundle["plies"], 1) if ply.get("gap")][:1]
    await page.evaluate(f"vindibotPage.clock.halt({gap + 1})")
    await page.keyboard.press("ArrowLeft")
    assert await page.locator(".said").inner_text() == "Turns are missing here."


async def test_distances_are_those_of_the_kernels(page: Any, bundle: dict[str, Any]) -> None:
    by_turn = {int(games[0]["turn"]): games for games in states()}
    size = bundle["size"]
    inner = np.array([square(row, column) for row in range(size) for column in range(size)])
    for k in range(3, len(bundle["plies"]), 61):
        turn = await page.evaluate(f"vindibotPage.game.turns[{k}]")
        games = by_turn[turn]
        assert games[0]["status"] == RUNNING
        ways = []
        for hero in range(4):
            found = await page.evaluate(f"[...vindibotModules['board/overlays.js'].distances(vindibotPage.game, {k}, {hero})]")
            theirs = distances_from(games, 0, [int(games[0]["hero"][hero]["pos"])])[inner]
            assert found == np.where(theirs == FAR, -1, theirs).tolist()
            ways.append([4 * far + (hero - turn) % 4 if far >= 0 else 10**6 for far in found])
        lands = await page.evaluate(f"[...vindibotModules['board/overlays.js'].territory(vindibotPage.game, {k})]")
        soonest = np.min(ways, axis=0)
        assert lands == np.where(soonest == 10**6, -1, np.argmin(ways, axis=0)).tolist()


@pytest.mark.slow_pages
async def test_overlays_by_key_and_by_mouse(page: Any) -> None:
    for key, label in (("c", "Combat map"), ("s", "Distances"), ("r", "Territory"), ("g", "Goals")):
        box = page.get_by_label(label)
        before = await box.is_checked()
        await page.keyboard.press(key)
        assert await box.is_checked() != before
        await page.locator("label", has_text=label).click()
        assert await box.is_checked() == before
    for box in await page.locator(".overlays input:enabled").all():
        await box.uncheck()
    assert not await page.evaluate(DRAWN, "marks")
    await page.keyboard.press("r")
    assert await page.evaluate(DRAWN, "marks")


async def test_overlays_that_nothing_feeds_are_disabled(page: Any) -> None:
    """No trait of the recording has an expected line, but one names a goal."""
    line = page.get_by_label("Expected line")
    assert await line.is_disabled()
    assert not await line.is_checked()
    assert await page.get_by_label("Goals").is_checked()
    reason = "no trait of this bot says which moves it expects"
    assert await page.locator("label", has_text="Expected line").get_attribute("title") == reason
    await page.keyboard.press("e")
    assert not await line.is_checked()
    assert await page.locator(".said").inner_text() == f"Expected line: {reason}."


# ---- Names ----


async def test_names_do_not_hide_arrows(page: Any, bundle: dict[str, Any]) -> None:
    layers = await page.locator(".board canvas").evaluate_all("all => all.map((one) => one.className)")
    assert layers[-1].endswith("layer-top")
    await page.evaluate(f"vindibotPage.clock.halt({bundle['why']['turns'][3]['ply']})")
    assert await page.evaluate(DRAWN, "top")
    await page.get_by_label("Votes", exact=True).uncheck()
    await page.get_by_label("Goals").uncheck()
    assert not await page.evaluate(DRAWN, "top")


async def test_names_are_text(page: Any, bundle: dict[str, Any]) -> None:
    names = await page.locator(".heroes .name").evaluate_all("names => names.map((name) => name.textContent)")
    assert names == [player["name"] for player in bundle["players"]]
    assert await page.locator("#viewer img").count() == 0
    assert await page.title() == bundle["title"]
