"""``vindibot challenge``: a game server on this machine with a page, where bots play against visitors of the page."""

from __future__ import annotations

import asyncio
import contextlib
import webbrowser
from collections.abc import AsyncIterator, Sequence

from rich.console import Console

from vindibot.base import lan_address, log, printable, say
from vindibot.challenge.host import Host
from vindibot.challenge.offers import Offers
from vindibot.challenge.routes import PATH, add_routes
from vindibot.challenge.settings import ChallengeSettings
from vindibot.engine import warm
from vindibot.games import Continuation
from vindibot.server import EmbeddedServer, ServerSettings

LOOPBACK, ALL_INTERFACES = "127.0.0.1", "0.0.0.0"


def challenge(
    settings: ChallengeSettings,
    bots: Sequence[str],
    console: Console,
    *,
    lan: bool,
    open_page: bool,
    start: Continuation | None = None,
) -> None:
    """Host challenges until Ctrl-C.

    `bots` are the bots that the page selects first. With `start`, games can go on from this turn of an earlier game.
    With `lan`, other machines in the network can reach the page. With `open_page`, the page opens in the browser. Raises
    `VindibotError` if a bot cannot be loaded or if the server cannot start.
    """
    with log.configured(settings.log.level, settings.log.file, console):
        offers = Offers(bots, settings.map, start)
        for player in dict.fromkeys(offers.missing):
            say(console, f"there is no bot {printable(player)!r:.60} here; seed takes its place, or choose another on the page")
        warm(console)
        host = Host(settings, offers, lambda text: say(console, printable(text)))

        def show(server: EmbeddedServer) -> None:
            url = server.url + PATH
            say(console, f"play at {url} (Ctrl-C ends it)")
            if lan:
                say(console, f"in this network: http://{lan_address()}:{server.port}{PATH}", "bold")
                say(console, "anybody who can reach this address may play, and see the votes of your bots", "yellow")
            if open_page and not webbrowser.open(url):
                say(console, "no browser could be opened: open this address yourself", "yellow")

        async def serve() -> None:
            async with serving(host, ALL_INTERFACES if lan else LOOPBACK) as server:
                await server.until_signal(show)

        asyncio.run(serve())


@contextlib.asynccontextmanager
async def serving(host: Host, address: str) -> AsyncIterator[EmbeddedServer]:
    """Serve the page and the games of `host` within the ``async with`` block, on the IP address `address`."""
    settings = ServerSettings(host=address, port=host.settings.port, keys="registered")
    async with EmbeddedServer(settings, (host,), (lambda app: add_routes(app, host),)) as server, host.playing_on(server):
        yield server
