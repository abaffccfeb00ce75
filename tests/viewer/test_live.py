"""Running games in a real browser: to their end, over a connection that breaks, and with the votes of our bot."""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.browser import until, visiting
from tests.support.commands import ended, opened, recorded
from tests.support.listening import Listener
from tests.support.recorded import BALLOT, HEADER, raw, states_of
from tests.support.serving import playing, serving
from tests.support.waiting import until as until_inside
from vindibot.games.files.recording import LastState, Recorder
from vindibot.games.game_record import loads
from vindibot.games.outcome import Outcome
from vindibot.games.protocol import read_game
from vindibot.viewer.bundle import bundle_of
from vindibot.viewer.live import LiveViewer

pytestmark = pytest.mark.asyncio(loop_scope="session")

NASTY = "</script><b>x</b>"


class Proxy(Listener):
    """A proxy of a server on this machine."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._target = port

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        try:
            await asyncio.gather(_pass_on(reader, far_writer), _pass_on(far_reader, writer))
        finally:
            far_writer.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.transport.abort()


async def heroes(page: Any, state: int) -> list[list[int]]:
    """Return the heroes of a state in the page: square, life, gold, mines."""
    found = await page.evaluate(f"vindibotPage.game.heroes({state})")
    return [[hero["square"], hero["life"], hero["gold"], hero["mines"]] for hero in found]


@pytest.mark.slow_pages
async def test_a_running_game_is_followed_through_broken_connections(browser: Any) -> None:
    async with serving() as server, playing(server, NASTY) as [bot]:
        await bot.join(turns=25)
        for _ in range(5):
            await bot.move("North")
        broken = ["net::ERR_"]
        async with Proxy(server.port) as proxy, visiting(browser, f"{proxy.url}/{bot.game['id']}", expected=broken) as page:
            await until(page, "vindibotPage.game.last >= 20")
            for _ in range(2):
                await proxy.__aexit__(None, None, None)
                for _ in range(5):
                    await bot.move("South")
                await page.get_by_text("Connection lost, trying again").wait_for()
                await proxy.start(proxy.port)
                await until(page, f"vindibotPage.game.last >= {bot.game['turn']}")
            await bot.play_on("East")
            await until(page, "vindibotPage.game.ending !== null && vindibotPage.clock.state === vindibotPage.game.last")
            record = loads((await bot.client.get(f"/records/{bot.game['id']}")).content)
            bundle = bundle_of(record)
            assert await page.evaluate("vindibotPage.game.last") == len(record.moves) == 100
            followed = [hero[:4] for hero in bundle["start"]["heroes"]]
            for number, ply in enumerate(bundle["plies"], 1):
                for hero, *now in ply.get("c", []):
                    followed[hero] = now[:4]
                if number % 7 == 0 or number == 100:
                    assert await heroes(page, number) == followed
            await page.locator(".ending", has_text="Played to the end").wait_for()
            gold = [int(text) for text in await page.locator(".heroes .gold").all_inner_texts() if text.isdecimal()]
            assert gold == [hero[2] for hero in followed]
            assert await page.locator(".heroes .name").first.text_content() == NASTY
            assert await page.locator("#viewer b").count() == 0


@pytest.mark.slow_pages
async def test_the_page_says_that_its_stream_is_refused_and_goes_on_later(browser: Any) -> None:
    async with serving(keep_finished_seconds=0) as server, playing(server, "ann") as [bot]:
        await bot.join(turns=3)
        refusals = {502: "The server answers with error 502, trying again", 503: "too many spectators", 429: "too many requests"}
        expected = [f"status of {status}" for status in refusals]
        async with visiting(browser, f"{server.url}/{bot.game['id']}", expected=expected) as page:
            await page.get_by_text("Live", exact=True).first.wait_for()
            for status, words in refusals.items():
                await page.route("**/plies/*", lambda route, _, status=status: route.fulfill(status=status))
                await page.reload()
                await page.get_by_text(words).wait_for()
            await page.unroute("**/plies/*")
            await bot.play_on("East")
            await until(page, "vindibotPage.game.last === 12 && vindibotPage.game.ending !== null")
            await page.locator(".status").get_by_text("Training game").wait_for()


@pytest.mark.slow_pages
async def test_hidden_tabs_of_a_game_keep_no_connection(browser: Any) -> None:
    """A browser has six connections to a server. The page goes on as soon as its tab is shown again."""
    show = """(hidden) => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    async with serving() as server, playing(server, "ann") as [bot], AsyncExitStack() as tabs:
        await bot.join(turns=20)
        address = f"{server.url}/{bot.game['id']}"
        first = await tabs.enter_async_context(visiting(browser, address, expected=["net::ERR_ABORTED"]))
        await first.evaluate("window.vindibotPage.game.last")
        for _ in range(7):
            page = await first.context.new_page()
            await page.goto(address)
            await bot.move("North")
            await until(page, f"vindibotPage.game.last >= {bot.game['turn']}")
            await page.evaluate(show, True)
        await bot.play_on("South")
        await page.evaluate(show, False)
        await until(page, "vindibotPage.game.last === 80 && vindibotPage.game.ending !== null")


@pytest.mark.slow_pages
async def test_play_and_pause_in_a_live_game(browser: Any) -> None:
    """At the newest ply, playback follows the game. It never goes back to the beginning."""
    shown = "[vindibotPage.clock.state, vindibotPage.clock.following]"
    async with serving() as server, playing(server, "ann") as [bot]:
        await bot.join(turns=6)
        async with visiting(browser, f"{server.url}/{bot.game['id']}") as page:
            for _ in range(2):  # before the first ply
                await page.keyboard.press("Space")
            assert await page.evaluate(shown) == [0, True]
            for _ in range(2):
                await bot.move("Stay")
            await until(page, "vindibotPage.clock.state === 8")
            for _ in range(2):
                await page.keyboard.press("Space")
            assert await page.evaluate(shown) == [8, True]
            await page.keyboard.press("ArrowLeft")
            await bot.move("Stay")
            await until(page, "vindibotPage.game.last === 12")
            assert await page.evaluate(shown) == [7, False], "the reader has chosen this state"
            await page.keyboard.press("l")
            assert await page.evaluate(shown) == [12, True]
            await page.keyboard.press("Home")
            await page.get_by_label("Speed").select_option("64")
            await page.keyboard.press("Space")
            await until(page, "vindibotPage.clock.state === 12 && vindibotPage.clock.following")
            await bot.play_on("Stay")
            await until(page, "vindibotPage.clock.state === 24 && !vindibotPage.clock.following")
            await page.keyboard.press("Space")  # the game is over: playback begins again
            await until(page, "vindibotPage.clock.state > 0 && vindibotPage.clock.state < 24")
            await page.get_by_role("button", name="Live").wait_for(state="hidden")


@pytest.mark.slow_pages
async def test_the_list_of_events_keeps_its_place_while_a_game_runs(browser: Any) -> None:
    count, top = "document.querySelectorAll('.list li').length", "document.querySelector('.list').scrollTop"
    own = [state for state in states_of(4, 480) if int(state[0]["turn"]) % 4 == HEADER.hero - 1]
    async with LiveViewer() as viewer:
        game = viewer.game()
        for state in own[:60]:
            game.turn(HEADER, read_game(raw(state)), state, BALLOT)
        async with visiting(browser, viewer.page(HEADER.game)) as page:
            await until(page, f"{count} > 20 && vindibotPage.clock.state === vindibotPage.game.last && {top} > 0")
            before = await page.evaluate(count)
            await page.evaluate("[...document.querySelectorAll('.list li')].at(4).mark = 1")
            await page.evaluate("document.querySelector('.list').scrollTop = 0")
            await page.get_by_role("button", name="Copy the address of this turn").click()
            message = page.get_by_text(re.compile("^(Copied|Copy this)"))
            await message.wait_for()
            for state in own[60:90]:
                game.turn(HEADER, read_game(raw(state)), state, BALLOT)
            await until(page, f"{count} > {before + 10} && vindibotPage.clock.state === vindibotPage.game.last")
            assert await message.count() == 1, "the turns that came do not replace the message at once"
            assert await page.evaluate(top) == 0
            assert await page.evaluate("[...document.querySelectorAll('.list li')].at(4).mark") == 1
            await page.keyboard.press("Shift+K")
            await until(page, f"{top} > 0")


@pytest.mark.slow_pages
async def test_an_archived_game_is_shown_from_the_list(browser: Any) -> None:
    async with serving(keep_finished_seconds=0) as server, playing(server, NASTY) as [bot]:
        await bot.join(turns=5)
        await bot.play_on("West")
        async with visiting(browser, server.url) as page:
            await page.get_by_role("link", name=bot.game["id"]).first.click()
            await until(page, "window.vindibotPage?.game.last === 20 && vindibotPage.game.ending !== null")
            await page.get_by_label("Time", exact=True).and_(page.locator("input")).fill("8")
            assert "8 / 20" in await page.locator(".where").inner_text()
            async with page.expect_download() as started:
                await page.get_by_role("button", name="Download the game record").click()
            saved = await (await started.value).path()
            assert loads(saved.read_bytes()).id == bot.game["id"]
            await page.get_by_role("link", name="Games").click()
            assert await page.get_by_role("heading", name="Games", exact=True).is_visible()


@pytest.mark.slow_pages
async def test_play_open_shows_the_running_game_with_votes(browser: Any, tmp_path: Path) -> None:
    async with opened(tmp_path, "play", "--rounds", "15", "--in-process", "--display", "none") as (process, address):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/game/\w+", address)
        async with visiting(browser, address) as page:
            await until(page, "vindibotPage.game.ending !== null")
            output = await ended(process)
            assert process.returncode == 0, output
            assert "no browser has shown" not in output
            recording = recorded(tmp_path)
            assert await page.evaluate("vindibotPage.game.last") == 60
            for own in (recording.turns[0], recording.turns[11], recording.turns[-1]):
                await page.evaluate(f"vindibotPage.clock.halt({own.turn + 1})")
                panel = page.locator(".why")
                assert f"turn {own.turn}?" in await panel.locator("h2").inner_text()
                labels = await panel.locator("tbody .trait").all_inner_texts()
                assert labels == [entry.label for entry in own.ballot.entries]
                values = "cells => cells.map((cell) => Number(cell.dataset.value))"
                sums = await panel.locator("tfoot td[data-value]").evaluate_all(values)
                assert sums == pytest.approx([own.ballot.sums[move] for move in own.ballot.candidates], rel=1e-5)


async def test_the_name_of_a_game_of_ours_is_text_in_the_list() -> None:
    name = "<script>\"'&"
    async with LiveViewer() as viewer, httpx.AsyncClient() as client:
        viewer.began(name, viewer.game())
        page = (await client.get(viewer.address)).text
        assert "<script" not in page
        assert f">game {name}</a> (running)" in unescape(page)
        assert f'href="{viewer.page(name)}"' in page


async def test_a_page_that_connects_late_or_again_gets_all_events(tmp_path: Path) -> None:
    """Over plain HTTP: the events after the last one received, and the end of all streams with the program."""
    recording_states = states_of(7, 80)
    async with LiveViewer() as viewer:
        game = viewer.game()
        own = [state for state in recording_states[:-1] if int(state[0]["turn"]) % 4 == 1]
        header = HEADER.model_copy(update={"hero": 2})
        recorder = Recorder(tmp_path / "mine", header)
        game.recording = recorder.path
        async with httpx.AsyncClient(base_url=viewer.address, timeout=20) as client:
            for state in own[:-1]:
                recorder.turn(read_game(raw(state)), BALLOT)
                game.turn(header, read_game(raw(state)), state, BALLOT)
            address = f"/plies/{header.game}"
            assert '"name":"seed"' in (await client.get(f"/game/{header.game}")).text
            assert header.game in (await client.get("/")).text
            assert {(await client.get(f"/{kind}/other")).status_code for kind in ("game", "plies", "recordings")} == {404}
            assert (await client.get("/", headers={"Host": "elsewhere.example"})).status_code == 400
            so_far = (await client.get(f"/recordings/{header.game}")).content
            assert so_far.count(b"\n") == 1 + len(own) - 1
            late = asyncio.create_task(client.get(address, headers={"Last-Event-ID": "5"}))
            left = asyncio.create_task(client.get(address))
            await until_inside(lambda: viewer.readers == 2)
            game.turn(header, read_game(raw(own[-1])), own[-1], BALLOT)
            last = recording_states[-1]
            game.finished(Outcome(), LastState(read_game(raw(last)), last))
            numbers = [int(number) for number in re.findall(r"^id: (\d+)$", (await late).text, re.MULTILINE)]
            assert numbers == list(range(6, len(own) + 2))
            assert (await left).text.count("event: end") == 1
            assert await viewer.all_sent(20)
            again = (await client.get(address, headers={"Last-Event-ID": "999"})).text
            assert again.count("data: ") == again.count("event: end") == 1
            assert recorder.path is not None
            assert f'data-name="{recorder.path.name}"' in (await client.get(f"/game/{header.game}")).text
            recorder.finish(Outcome())
            assert (await client.get(f"/recordings/{header.game}")).content == recorder.path.read_bytes()
            running = viewer.game()
            running.turn(header.model_copy(update={"game": "other"}), read_game(raw(own[0])), own[0], BALLOT)
            assert "data-name" not in (await client.get("/game/other")).text
            assert (await client.get("/recordings/other")).status_code == 404
            unfinished = asyncio.create_task(client.get("/plies/other"))
            await until_inside(lambda: viewer.readers == 1)
            await viewer.__aexit__(None, None, None)
            assert "event: end" not in (await unfinished).text


@pytest.mark.slow_pages
async def test_the_list_of_games_waits_for_the_first_game(browser: Any, tmp_path: Path) -> None:
    state = states_of(7, 8)[0]
    async with LiveViewer() as viewer, visiting(browser, viewer.address) as page:
        await page.get_by_text("No game has begun yet.").wait_for()
        game, recorder = viewer.game(), Recorder(tmp_path, HEADER)
        game.recording = recorder.path
        game.turn(HEADER, read_game(raw(state)), state, BALLOT)
        await page.get_by_role("link", name="game abcd1234").click()
        await page.get_by_role("button", name="Download the recording").wait_for()
        recorder.close()
