"""The page of a game in a browser without a window: work of the main thread per frame on a 28x28 board, and the time to open.

The work comes from the browser's own trace: all tasks of the page's main thread between two frames (scripts, style, layout and
painting). The table also has the processor time, which is more reliable if other programs use the machine.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from playwright.async_api import Browser, Error, async_playwright

from sim.game import CRASH, RUNNING, Games
from sim.generator import generate
from sim.rules import step
from tests.benchmarks import Missing, Row, sized

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # helpers of the tests import each other without a package name
from tests.support.browser import launch, until, visiting
from tests.support.recorded import record
from vindibot.viewer.bundle import bundle_of
from vindibot.viewer.page import whole_page

SIZE, PLIES = 28, 1200
#: Speeds of playback, each with a factor by which the processor is slowed: a laptop as usual, a phone at the highest speed.
PACES = ((16, 1), (64, 4))
#: A frame with more work of the main thread than this is lost, in milliseconds.
FRAME_MS = 16.7
#: The targets, in milliseconds and bytes.
MEDIAN_MS, P99_MS, OPEN_MS, PAGE_BYTES = 8, 25, 1000, 3_000_000
#: Numbers of plies that are played before the trace, and during it.
FROM, TRACED = 100, 500
_TRACE = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline", "__metadata"]
#: Names in the trace: the end of the main thread's part of a frame, and a task.
_FRAME, _TASK = "Commit", "RunTask"


def game() -> list[Games]:
    """Return all states of a game of random moves on the largest board."""
    rng = np.random.default_rng(1)
    games = generate(1, size=SIZE).new_game(max_turns=PLIES)
    states = [games.copy()]
    while games[0]["status"] == RUNNING:
        step(games, 0, int(rng.integers(CRASH)))
        states.append(games.copy())
    return states


def frames(trace: bytes, key: str) -> list[float]:
    """Return milliseconds of the main thread's tasks between frames. `key` is "dur" (wall time) or "tdur" (processor time)."""
    events: list[dict[str, Any]] = json.loads(trace)["traceEvents"]
    drawn = Counter((event["pid"], event["tid"]) for event in events if event["name"] == _FRAME)
    (thread, _), *_ = drawn.most_common(1)
    mine = [event for event in events if (event["pid"], event["tid"]) == thread]
    ends = sorted(event["ts"] for event in mine if event["name"] == _FRAME)
    tasks = [event for event in mine if event["name"] == _TASK and event["ph"] == "X"]
    times = np.array([task["ts"] for task in tasks])  # the task that ends a frame begins before that end
    spent = np.array([task.get(key, 0) for task in tasks])
    return [float(spent[(times > one) & (times <= other)].sum()) / 1000 for one, other in pairwise(ends)]


async def _traced(browser: Browser, address: str, overlays: str, speed: int, slowed: int) -> bytes:
    async with visiting(browser, address) as page:
        for key in overlays:
            await page.keyboard.press(key)
        await page.get_by_label("Speed").select_option(str(speed))
        processor = await page.context.new_cdp_session(page)
        await processor.send("Emulation.setCPUThrottlingRate", {"rate": slowed})
        await page.evaluate(f"vindibotPage.clock.go({FROM - 50}); vindibotPage.clock.play()")
        await until(page, f"vindibotPage.clock.state >= {FROM}")
        await browser.start_tracing(page=page, categories=_TRACE)
        await until(page, f"vindibotPage.clock.state >= {FROM + TRACED}")
        return await browser.stop_tracing()


async def _opened(browser: Browser, address: str) -> float:
    """Return the milliseconds from the navigation to the first frame after the board was drawn."""
    async with visiting(browser, address) as page:
        await page.evaluate("() => new Promise(requestAnimationFrame)")
        return float(await page.evaluate("performance.now()"))


def _row(what: str, speed: int, slowed: int, trace: bytes) -> Row:
    wall, processor = frames(trace, "dur"), frames(trace, "tdur")
    median, late = statistics.median(wall), float(np.percentile(wall, 99))
    lost = sum(work > FRAME_MS for work in wall)
    spent = f"{statistics.median(processor):.1f} / {np.percentile(processor, 99):.1f} ms"
    verdict = "ok" if median < MEDIAN_MS and late < P99_MS else f"aim: {MEDIAN_MS} / {P99_MS}"
    at = f"{speed}x, {f'processor slowed by {slowed}, ' if slowed > 1 else ''}{what}"
    return Row(
        f"frame, {SIZE}x{SIZE} at {at}",
        f"{median:.1f} / {late:.1f} ms",
        verdict,
        f"median / p99; processor {spent}; {lost} of {len(wall)} frames lost",
    )


async def _measure(folder: Path) -> list[Row]:
    page = folder / "game.html"
    page.write_text(whole_page(bundle_of(record(folder, game(), 1))))
    async with async_playwright() as playwright:
        try:
            browser = await launch(playwright)
        except Error as error:
            raise Missing(
                f"there is no browser: {error.message.splitlines()[0]}; `playwright install chromium` gets one"
            ) from None
        drawn = [
            _row(what, *pace, await _traced(browser, page.as_uri(), overlays, *pace))
            for pace in PACES
            for what, overlays in (("votes shown", ""), ("all overlays", "csrx"))
        ]
        opened = min([await _opened(browser, page.as_uri()) for _ in range(sized(5, 1))])
        await browser.close()
    size = page.stat().st_size
    opens = Row(f"open {PLIES // 4} rounds", f"{opened:.0f} ms", "ok" if opened < OPEN_MS else f"aim: {OPEN_MS} ms", "best of 5")
    weighs = Row("size of that page", f"{size / 1e6:.2f} MB", "ok" if size < PAGE_BYTES else "aim: 3 MB", "self-contained")
    return [*drawn, opens, weighs]


def rows() -> list[Row]:
    """Return the times of frames with the usual view and with every overlay, and the time to open a whole recording."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder)))
