"""The page of a game in a real browser, from one file: time and keys, jumps, votes, names, window sizes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from sim.game import RUNNING, Games, square
from sim.paths import FAR, distances_from
from tests.support.browser import DESKTOP, PHONE, until, visiting
from tests.support.recorded import record, states_of
from vindibot.viewer.bundle import bundle_of
from vindibot.viewer.page import whole_page

pytestmark = pytest.mark.asyncio(loop_scope="session")

#: A name that is everything a page must not take for what it looks like.
NASTY = "<img src=x onerror=alert(1)>"
#: The numbers of some cells; a colour's brightness, 0..765; a control that is called nothing.
VALUES = "cells => cells.map((cell) => Number(cell.dataset.value))"
BRIGHTNESS = (
    "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((sum, one) => sum + Number(one), 0)"
)
UNNAMED = "all => all.filter((one) => !(one.ariaLabel || one.textContent.trim() || one.labels?.[0]?.textContent.trim())).length"
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
    return json.loads(json.dumps(bundle))


@pytest.fixture(scope="module")
def address(bundle: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "game.html"
    path.write_text(whole_page(bundle))
    return path.as_uri()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def visit(browser: Any, address: str) -> AsyncIterator[Any]:
    async with visiting(browser, address) as page:
        yield page


@pytest_asyncio.fixture(loop_scope="session")
async def page(visit: Any) -> Any:
    """The page, newly opened."""
    await visit.reload()
    return visit


async def state(page: Any) -> int:
    """Return the number of the state that the page shows."""
    return int(await page.get_by_label("Time", exact=True).and_(page.locator("input")).input_value())


def happened(bundle: dict[str, Any], *kinds: str) -> list[int]:
    """Return the states after the events of these kinds."""
    return [k for k, ply in enumerate(bundle["plies"], 1) if any(event[0] in kinds for event in ply.get("e", []))]


# ---- Time ----


async def test_the_keys_move_the_time(page: Any, bundle: dict[str, Any]) -> None:
    last = len(bundle["plies"])
    shown = []
    for key in ("ArrowRight", "Shift+ArrowRight", "ArrowLeft", "PageDown", "PageUp", "End", "Shift+ArrowLeft", "Home"):
        await page.keyboard.press(key)
        shown.append(await state(page))
    assert shown == [1, 5, 4, 44, 4, last, last - 4, 0]


async def test_playback_at_every_speed_with_pause_and_end(page: Any, bundle: dict[str, Any]) -> None:
    await page.keyboard.press("Space")
    await page.get_by_role("button", name="Pause").wait_for()
    await until(page, "vindibotPage.clock.state >= 3")
    await page.keyboard.press("Space")
    await page.get_by_role("button", name="Play", exact=True).wait_for()
    stopped = await state(page)
    assert 3 <= stopped < len(bundle["plies"])
    for speed in (2, 4, 8, 16, 32, 64):
        await page.keyboard.press("+")
        assert await page.get_by_label("Speed").input_value() == str(speed)
    await page.keyboard.press("Space")
    await until(page, f"vindibotPage.clock.state === {len(bundle['plies'])}")
    await page.get_by_role("button", name="Play", exact=True).wait_for()


@pytest.mark.parametrize(("key", "kinds"), [("k", ("kill",)), ("d", ("kill", "death"))])
async def test_jumps_lead_to_events(page: Any, bundle: dict[str, Any], key: str, kinds: tuple[str, ...]) -> None:
    wanted = happened(bundle, *kinds)
    assert len(wanted) > 10
    forth = []
    for _ in wanted:
        await page.keyboard.press(key)
        forth.append(await state(page))
    assert forth == wanted
    await page.keyboard.press(key)
    assert await state(page) == wanted[-1]
    assert "no later" in await page.locator(".said").inner_text()
    await page.keyboard.press(f"Shift+{key.upper()}")
    assert await state(page) == wanted[-2]


async def test_jumps_about_one_hero(page: Any, bundle: dict[str, Any]) -> None:
    hero = next(ply for ply in bundle["plies"] if any(event[0] == "kill" for event in ply.get("e", [])))["h"]
    kills = [k for k, ply in enumerate(bundle["plies"], 1) if ["kill", hero] in [event[:2] for event in ply.get("e", [])]]
    await page.keyboard.press(str(hero + 1))
    shown = []
    for _ in kills:
        await page.get_by_role("button", name="Next kill").click()
        shown.append(await state(page))
    assert shown == kills


async def test_jumps_to_mines(page: Any, bundle: dict[str, Any]) -> None:
    wanted = [k for k, ply in enumerate(bundle["plies"], 1) if "m" in ply and "gap" not in ply]
    shown = []
    for _ in wanted:
        await page.keyboard.press("m")
        shown.append(await state(page))
    assert shown == wanted


async def test_scrubbing_and_clicks_on_curves(page: Any, bundle: dict[str, Any]) -> None:
    await page.get_by_label("Time", exact=True).and_(page.locator("input")).fill("120")
    turn = bundle["plies"][119]["t"]
    assert f"{turn} / 480" in await page.locator(".where").inner_text()
    for title in ("gold", "mines", "life"):
        plot = page.locator(f".chart-{title} .plot")
        box = await plot.bounding_box()
        await plot.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
        turn = await page.evaluate("vindibotPage.game.turns[vindibotPage.clock.state]")
        assert abs(turn - 240) < 25


async def test_states_of_the_page_are_those_of_the_game(page: Any, bundle: dict[str, Any]) -> None:
    """Compare states of the page, all over the game, with those of the game."""
    by_turn = {int(games[0]["turn"]): games for games in states()}
    for k in [*range(0, len(bundle["plies"]), 23), len(bundle["plies"])]:
        found = await page.evaluate(f"[vindibotPage.game.turns[{k}], vindibotPage.game.heroes({k})]")
        games = by_turn[found[0]]
        for hero, seen in zip(games[0]["hero"], found[1], strict=True):
            assert [seen["life"], seen["gold"], seen["mines"]] == [hero["life"], hero["gold"], hero["mines"]]


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
        sums = await panel.locator("tfoot td[data-value]").evaluate_all(
            "cells => cells.map((cell) => Number(cell.dataset.value))"
        )
        assert sums == pytest.approx([turn["sums"][move] for move in turn["candidates"]])
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
            found = await page.evaluate(
                f"import('viewer/overlays.js').then((it) => [...it.distances(vindibotPage.game, {k}, {hero})])"
            )
            theirs = distances_from(games, 0, [int(games[0]["hero"][hero]["pos"])])[inner]
            assert found == np.where(theirs == FAR, -1, theirs).tolist()
            ways.append([4 * far + (hero - turn) % 4 if far >= 0 else 10**6 for far in found])
        lands = await page.evaluate(f"import('viewer/overlays.js').then((it) => [...it.territory(vindibotPage.game, {k})])")
        soonest = np.min(ways, axis=0)
        assert lands == np.where(soonest == 10**6, -1, np.argmin(ways, axis=0)).tolist()


async def test_overlays_by_key_and_by_mouse(page: Any) -> None:
    for key, label in (("c", "Combat map"), ("s", "Distances"), ("r", "Territory"), ("x", "Dead ends"), ("g", "Goals")):
        box = page.get_by_label(label)
        before = await box.is_checked()
        await page.keyboard.press(key)
        assert await box.is_checked() != before
        await page.locator("label", has_text=label).click()
        assert await box.is_checked() == before
    drawn = """() => {
        const copy = new OffscreenCanvas(400, 400).getContext('2d', { willReadFrequently: true });
        copy.drawImage(document.querySelector('.layer-marks'), 0, 0);
        return copy.getImageData(0, 0, 400, 400).data.some(Boolean);
    }"""
    for box in await page.locator(".overlays input").all():
        await box.uncheck()
    assert not await page.evaluate(drawn)
    await page.keyboard.press("r")
    assert await page.evaluate(drawn)


# ---- Names ----


async def test_names_are_text(page: Any, bundle: dict[str, Any]) -> None:
    names = await page.locator(".heroes .name").evaluate_all("names => names.map((name) => name.textContent)")
    assert names == [player["name"] for player in bundle["players"]]
    assert await page.locator("#viewer img").count() == 0
    assert await page.title() == bundle["title"]


# ---- Windows ----


@pytest.mark.parametrize("width", [320, PHONE[0], 768])
async def test_a_narrow_window_does_not_scroll_sideways(browser: Any, address: str, width: int) -> None:
    async with visiting(browser, address, size=(width, 844), has_touch=True) as page:
        await page.evaluate("vindibotPage.clock.halt(200)")
        wide = await page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width
        boxes = "all => all.map((one) => one.getBoundingClientRect()).map(({ left, right }) => [left, right])"
        for left, right in await page.locator("button:visible, select:visible, input:visible").evaluate_all(boxes):
            assert 0 <= left < right <= width
        await page.get_by_role("button", name="Play").tap()
        await page.get_by_role("button", name="Pause").wait_for()


async def test_everything_can_be_reached_by_keyboard_and_has_a_name(page: Any) -> None:
    controls = "#viewer :is(button, select, input, a):not(dialog *)"
    wanted = await page.locator(controls).evaluate_all(
        "all => all.filter((one) => !one.disabled && one.checkVisibility())"
        ".map((one) => [...document.querySelectorAll('*')].indexOf(one))"
    )
    reached = set()
    for _ in range(len(wanted) + 5):
        await page.keyboard.press("Tab")
        reached.add(await page.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)"))
        outlined = "(one) => one === document.body || ['solid', 'auto'].includes(getComputedStyle(one).outlineStyle)"
        assert await page.evaluate(f"({outlined})(document.activeElement)")
    assert set(wanted) <= reached
    assert await page.locator(controls).evaluate_all(UNNAMED) == 0


async def test_space_presses_the_button_that_has_the_focus(page: Any) -> None:
    await page.get_by_role("button", name="A round on").focus()
    await page.keyboard.press("Space")
    assert await state(page) == 4
    assert await page.get_by_role("button", name="Play", exact=True).is_visible()


async def test_the_list_of_keys(page: Any) -> None:
    await page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    await dialog.wait_for()
    assert "next kill" in await dialog.inner_text()
    await page.keyboard.press("ArrowRight")
    assert await state(page) == 0
    await page.keyboard.press("Escape")
    await dialog.wait_for(state="hidden")
    await page.keyboard.press("ArrowRight")
    assert await state(page) == 1


@pytest.mark.parametrize("scheme", ["dark", "light"])
async def test_dark_and_light(browser: Any, address: str, scheme: str) -> None:
    async with visiting(browser, address, size=DESKTOP, color_scheme=scheme) as page:
        assert (await page.evaluate(BRIGHTNESS) > 380) == (scheme == "light")
        await page.keyboard.press("i")
        assert (await page.evaluate(BRIGHTNESS) > 380) == (scheme == "dark")
        await page.reload()
        assert (await page.evaluate(BRIGHTNESS) > 380) == (scheme == "dark")


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
async def test_reduced_motion_shows_whole_states_only(browser: Any, address: str, motion: str) -> None:
    async with visiting(browser, address, reduced_motion=motion) as page:
        await page.evaluate(
            """() => {
                window.between = 0;
                const { board } = vindibotPage, frame = board.frame.bind(board);
                board.frame = (scene) => {
                    between += scene.heroes.some(({ x, y }) => x % 1 || y % 1);
                    frame(scene);
                };
            }"""
        )
        await page.get_by_label("Speed").select_option("4")
        await page.get_by_role("button", name="Play").click()
        await until(page, "vindibotPage.clock.state >= 20")
        assert (await page.evaluate("between") == 0) == (motion == "reduce")


# ---- Live ----


@asynccontextmanager
async def growing(browser: Any, bundle: dict[str, Any], folder: Path, known: int) -> AsyncIterator[Any]:
    """Open a page with the first `known` plies of a game that it takes for live."""
    begun = {**bundle, "plies": bundle["plies"][:known], "live": True, "ending": None, "results": None}
    begun["why"] = {**bundle["why"], "turns": []}
    path = folder / "live.html"
    path.write_text(whole_page(begun))
    async with visiting(browser, path.as_uri()) as page:
        yield page


async def test_a_growing_game_is_followed_unless_the_time_was_changed(
    browser: Any, bundle: dict[str, Any], tmp_path: Path
) -> None:
    async with growing(browser, bundle, tmp_path, 20) as page:
        grow = "(patch) => vindibotPage._grow(patch)"
        await page.get_by_role("button", name="Live").click()
        assert await state(page) == 20
        await page.evaluate(grow, {"from": 12, "plies": bundle["plies"][12:30]})  # some of them twice
        await until(page, "vindibotPage.clock.state === 30")
        await page.keyboard.press("ArrowLeft")
        await page.evaluate(grow, {"from": 30, "plies": bundle["plies"][30:50], "why": bundle["why"]["turns"][:9]})
        assert await state(page) == 29
        assert await page.locator(".why tbody tr").count() == 3
        await page.keyboard.press("l")
        assert await state(page) == 50
        rest = {"from": 50, "plies": bundle["plies"][50:], "ending": bundle["ending"], "results": bundle["results"]}
        await page.evaluate(grow, rest)
        await until(page, f"vindibotPage.clock.state === {len(bundle['plies'])}")
        await until(page, "document.querySelector('.ending').textContent !== ''")
        assert not await page.get_by_role("button", name="Live").is_visible()
