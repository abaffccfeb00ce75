"""A real browser for tests. There is one browser per session (the fixture `browser`), and a new page for each visit.

Tests that use it run in the loop of the session: ``pytestmark = pytest.mark.asyncio(loop_scope="session")``.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, ConsoleMessage, Page, Playwright, Request

#: Schemes of addresses that need no request, and hosts that are this machine.
_INSIDE, _HERE = {"file", "data", "blob", "about"}, {"127.0.0.1", "localhost", "::1"}
#: Sizes of a window on a desktop and on a phone.
DESKTOP, PHONE = (1280, 800), (390, 844)


def chromium() -> str | None:
    """Return the path of the browser's program, None for the browser of playwright.

    A page of the headless shell takes a third of the time that a page of the whole browser takes.
    """
    programs = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, programs)), None)


async def launch(playwright: Playwright) -> Browser:
    """Start a browser without a window."""
    # The sandbox needs privileges that containers lack, where tests often run as root.
    return await playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])


@asynccontextmanager
async def visiting(
    browser: Browser, address: str, *, size: tuple[int, int] = DESKTOP, expected: Sequence[str] = (), **options: Any
) -> AsyncIterator[Page]:
    """Yield a new page at `address` in a window of `size`. `options` are for playwright's context (``color_scheme="dark"``).

    At the end the console must have no errors and warnings, except those with one of the texts `expected`. No script may have
    raised an error, and no request may have gone to another machine.
    """
    width, height = size
    context = await browser.new_context(viewport={"width": width, "height": height}, **options)
    complaints: list[str] = []
    strangers: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(text in message.text for text in expected):
            complaints.append(f"{message.type}: {message.text}")

    def watch(request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in _INSIDE and parts.hostname not in _HERE:
            strangers.append(request.url)

    context.on("request", watch)
    context.set_default_timeout(60_000)  # a busy machine may need more than the usual 30 s
    page = await context.new_page()
    page.on("console", hear)
    page.on("pageerror", lambda error: complaints.append(f"raised: {error}"))
    try:
        await page.goto(address)
        yield page
    finally:
        await context.close()
    assert not complaints, complaints
    assert not strangers, strangers


async def until(page: Page, condition: str) -> None:
    """Wait until an expression is true in the page. (Playwright's own function needs `eval`, which the page's policy forbids.)"""
    look = f"const look = () => (({condition}) ? done() : requestAnimationFrame(look)); look();"
    await page.evaluate(f"() => new Promise((done) => {{ {look} }})")
