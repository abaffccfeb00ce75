"""The page of a game in a real browser, from one file: time and keys, jumps, window sizes."""

from __future__ import annotations

import base64
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sim.game import row_column
from tests.support.browser import PHONE, until, visiting
from tests.support.recorded import record
from tests.viewer.conftest import happened, state, states
from vindibot.viewer.painting import Painter
from vindibot.viewer.replay import replay_file

pytestmark = pytest.mark.asyncio(loop_scope="session")


# ---- The board ----


async def test_the_board_looks_as_in_pictures(page: Any) -> None:
    """The viewer and `vindibot.viewer.painting` draw the same land and the same mines."""
    data = await page.evaluate("document.querySelector('.layer-land').toDataURL()")
    first = states()[0]
    size = int(first["size"].item(0))
    painted = Painter(first).paint(first)
    images = [Image.open(BytesIO(base64.b64decode(data.partition(",")[2]))), painted.crop((0, 0, 32 * size, 32 * size))]
    one, other = (np.asarray(image.convert("RGB").resize((4 * size, 4 * size), Image.Resampling.BOX), float) for image in images)
    differences = np.abs(one - other).mean(axis=2).reshape(size, 4, size, 4).mean(axis=(1, 3))
    for pos in first["hero"]["pos"][0].tolist():  # heroes are on another layer of the page, and cover squares beside them
        row, column = row_column(pos)
        differences[max(0, row - 1) : row + 2, max(0, column - 1) : column + 2] = 0
    assert np.count_nonzero(differences) > 50
    assert differences.max() < 8, differences.round()


# ---- Time ----


@pytest.mark.slow_pages
async def test_the_keys_move_the_time(page: Any, bundle: dict[str, Any]) -> None:
    last = len(bundle["plies"])
    shown = []
    for key in ("ArrowRight", "Shift+ArrowRight", "ArrowLeft", "PageDown", "PageUp", "End", "Shift+ArrowLeft", "Home"):
        await page.keyboard.press(key)
        shown.append(await state(page))
    assert shown == [1, 5, 4, 44, 4, last, last - 4, 0]


@pytest.mark.slow_pages
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


@pytest.mark.parametrize(("key", "kinds"), [("k", {"kill"}), ("d", {"kill", "death"}), ("m", {"mine", "heir"})])
async def test_jumps_lead_to_events(page: Any, bundle: dict[str, Any], key: str, kinds: set[str]) -> None:
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


@pytest.mark.slow_pages
async def test_letters_can_be_switched_off_as_keys(page: Any) -> None:
    for letters, shown in ((False, 1), (True, 2)):
        await page.get_by_role("button", name="Keys").click()
        await page.get_by_label("Letters and digits are keys").set_checked(letters)
        await page.get_by_role("button", name="Close", exact=True).click()
        await page.keyboard.press("ArrowRight")
        assert await state(page) == shown
        await page.keyboard.press("k")
        assert (await state(page) == shown) != letters


async def test_jumps_about_one_hero(page: Any, bundle: dict[str, Any]) -> None:
    hero = next(ply for ply in bundle["plies"] if any(event[0] == "kill" for event in ply.get("e", [])))["h"]
    kills = [k for k, ply in enumerate(bundle["plies"], 1) if ["kill", hero] in [event[:2] for event in ply.get("e", [])]]
    await page.keyboard.press(str(hero + 1))
    shown = []
    for _ in kills:
        await page.get_by_role("button", name="Next kill").click()
        shown.append(await state(page))
    assert shown == kills


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


@pytest.mark.slow_pages
async def test_a_gesture_that_scrolls_from_a_curve_does_not_change_the_time(browser: Any, address: str) -> None:
    async with visiting(browser, address, size=PHONE, has_touch=True, is_mobile=True) as page:
        await page.locator(".chart-gold .plot").scroll_into_view_if_needed()
        box = await page.locator(".chart-gold .plot").bounding_box()
        session, before = await page.context.new_cdp_session(page), await page.evaluate("scrollY")
        await page.evaluate("addEventListener('scrollend', () => { window.rests = true; })")
        for kind, moved in (("touchStart", 0), ("touchMove", 20), ("touchMove", 60), ("touchMove", 120), ("touchEnd", None)):
            points = [] if moved is None else [{"x": box["x"] + box["width"] / 2, "y": box["y"] + 30 + moved}]
            await session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        await until(page, f"window.rests && scrollY < {before}")  # a touch in between would only end the scrolling
        assert await state(page) == 0
        await page.locator(".chart-gold .plot").tap()
        await until(page, "vindibotPage.clock.state > 100")


async def test_states_of_the_page_are_those_of_the_game(page: Any, bundle: dict[str, Any]) -> None:
    """Compare states of the page, all over the game, with those of the game."""
    by_turn = {int(games[0]["turn"]): games for games in states()}
    for k in [*range(0, len(bundle["plies"]), 23), len(bundle["plies"])]:
        found = await page.evaluate(f"[vindibotPage.game.turns[{k}], vindibotPage.game.heroes({k})]")
        games = by_turn[found[0]]
        for hero, seen in zip(games[0]["hero"], found[1], strict=True):
            assert [seen["life"], seen["gold"], seen["mines"]] == [hero["life"], hero["gold"], hero["mines"]]


@pytest.mark.slow_pages
async def test_the_address_follows_the_turn(page: Any, bundle: dict[str, Any]) -> None:
    await page.keyboard.press("PageDown")
    turn = bundle["plies"][39]["t"]
    await until(page, f"location.hash === '#turn={turn}'")
    await page.reload()
    assert await state(page) == 40
    await page.evaluate(f"location.hash = '#turn={bundle['plies'][99]['t']}'")
    await until(page, "vindibotPage.clock.state === 100")
    await page.evaluate("history.replaceState(null, '', '#turn=99999')")
    await page.reload()
    assert await state(page) == len(bundle["plies"])


@pytest.mark.slow_pages
async def test_the_address_of_a_turn_is_copied(browser: Any, bundle: dict[str, Any], address: str) -> None:
    async with visiting(browser, address, permissions=["clipboard-read", "clipboard-write"]) as page:
        turn = bundle["why"]["turns"][7]
        await page.evaluate(f"vindibotPage.clock.halt({turn['ply'] + 1})")
        for break_clipboard in ("", "navigator.clipboard.writeText = () => Promise.reject();"):
            await page.evaluate(f"() => {{ navigator.clipboard.writeText(''); {break_clipboard} }}")
            await page.get_by_role("button", name="Copy the address of this turn").click()
            copied = f"{address}#turn={turn['turn'] + 1}"
            await page.get_by_text(f"Copied: {copied}").wait_for()
            assert await page.evaluate("navigator.clipboard.readText()") == copied


async def test_the_recording_is_downloaded_from_the_page(browser: Any, tmp_path: Path) -> None:
    recording = record(tmp_path, states(), 1)
    page_path = replay_file(recording.path, tmp_path / "game.html")
    async with visiting(browser, page_path.as_uri(), accept_downloads=True) as page:
        async with page.expect_download() as started:
            await page.get_by_role("button", name="Download the recording").click()
        download = await started.value
        assert download.suggested_filename == recording.path.name
        saved = await download.path()
        assert saved.read_bytes() == recording.path.read_bytes()
        said = await page.locator(".said").inner_text()
        assert said == f"Downloading the recording {recording.path.name}, for vindibot replay, watch and turn."


async def test_the_result_is_shown_at_the_end_or_on_request(page: Any, bundle: dict[str, Any]) -> None:
    ending, reveal = page.locator(".ending"), page.get_by_role("button", name="Show the whole game")
    veil = page.locator(".chart-gold .veil")
    await reveal.click()
    assert "at the end" in await page.locator(".chart-gold .plot").get_attribute("aria-label")
    assert not await veil.is_visible()
    await page.reload()
    assert await ending.inner_text() == ""
    assert await reveal.is_visible()
    covered = await veil.bounding_box()
    top = "Math.max(...[...document.querySelectorAll('.chart-gold text')].map((label) => Number(label.textContent)))"
    assert await page.evaluate(top) <= 1, "the scale does not tell what comes"
    await page.keyboard.press("PageDown")
    assert (await veil.bounding_box())["x"] > covered["x"]
    assert "at the end" not in await page.locator(".chart-gold .plot").get_attribute("aria-label")
    await page.keyboard.press("End")
    assert await page.evaluate(top) >= 50
    assert "Played to the end" in await ending.inner_text()
    assert not await reveal.is_visible()
    assert not await veil.is_visible()
    await page.keyboard.press("ArrowLeft")
    assert await ending.inner_text() == ""


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


async def test_on_a_phone_the_steps_stay_in_reach(browser: Any, address: str) -> None:
    async with visiting(browser, address, size=PHONE, has_touch=True) as page:
        for part in (".board", ".why", ".charts"):
            await page.locator(part).scroll_into_view_if_needed()
            before = await state(page)
            box = await page.get_by_role("button", name="A ply on").bounding_box()
            assert box["y"] + box["height"] <= PHONE[1]
            await page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            assert await state(page) == before + 1


@pytest.mark.parametrize(("width", "height"), [(1280, 640), (1680, 1050), (820, 1180), PHONE])
async def test_the_board_is_as_large_as_the_window_allows(browser: Any, address: str, width: int, height: int) -> None:
    async with visiting(browser, address, size=(width, height)) as page:
        box = await page.locator(".layer-land").bounding_box()
        side = min(height - 16, width - 560) if width > height else width - 24
        assert side - 28 <= box["width"] <= side + 24
        assert box["y"] + box["height"] <= height


@pytest.mark.slow_pages
async def test_everything_can_be_reached_by_keyboard(page: Any) -> None:
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


async def test_space_presses_the_button_that_has_the_focus(page: Any) -> None:
    await page.get_by_role("button", name="A round on").focus()
    await page.keyboard.press("Space")
    assert await state(page) == 4
    assert await page.get_by_role("button", name="Play", exact=True).is_visible()


async def test_the_list_of_keys(page: Any) -> None:
    await page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    await dialog.wait_for()
    closing = page.locator("dialog button")
    assert "next kill" in await dialog.inner_text()
    await page.keyboard.press("ArrowRight")
    assert await state(page) == 0
    await page.keyboard.press("Escape")
    await dialog.wait_for(state="hidden")
    # Until the next frame, a key still goes to the button that had the focus in the window.
    await closing.dispatch_event("keydown", {"key": "ArrowRight", "bubbles": True})
    assert await state(page) == 1


@pytest.mark.slow_pages
async def test_dark_and_light(browser: Any, address: str) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    async with visiting(browser, address, color_scheme="dark") as page:
        dark = await page.evaluate(colour)
    async with visiting(browser, address, color_scheme="light") as page:
        assert await page.evaluate(colour) != dark
        await page.keyboard.press("i")
        assert await page.evaluate(colour) == dark
        await page.reload()
        assert await page.evaluate(colour) == dark


@pytest.mark.slow_pages
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
