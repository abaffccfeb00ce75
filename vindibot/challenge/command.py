"""``vindibot challenge``: a game server on this machine with a page, where bots play against visitors of the page."""

from __future__ import annotations

import asyncio
import contextlib
import webbrowser
from collections.abc import AsyncIterator, Sequence

from rich.console import Console

from vindibot.base import log
from vindibot.base.address import lan_address
from vindibot.base.console import say
from vindibot.base.text import printable
from vindibot.challenge.host import Host
from vindibot.challenge.offers import Offers
from vindibot.challenge.people import check_seats
from vindibot.challenge.routes import PATH, add_routes
from vindibot.challenge.settings import ChallengeSettings
from vindibot.config.load import Config
from vindibot.engine.warmup import warm
from vindibot.games.files.recorded_turn import Continuation
from vindibot.games.files.recording import recording_folder_problem
from vindibot.server.embedded import EmbeddedServer
from vindibot.server.settings import ServerSettings

LOOPBACK, ALL_INTERFACES = "127.0.0.1", "0.0.0.0"


def challenge(
    loaded: Config[ChallengeSettings],
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
    settings, recording = loaded.settings, loaded.settings.recording
    if settings.margin_ms >= settings.limit_ms:
        raise loaded.refuse("margin_ms", "must be less than limit_ms, or the bots have no time to think")
    if recording.enabled and (problem := recording_folder_problem(recording.folder)):
        raise loaded.refuse("recording.folder", problem)
    with log.configured(settings.log.level, settings.log.file, console):
        check_seats(settings.people, len(bots))
        offers = Offers(bots, settings.map, start)
        for player in dict.fromkeys(offers.missing):
            another = ", or choose another on the page" if settings.people == 1 else ""
            say(console, f"there is no bot {printable(player)!r:.60} here; seed takes its place{another}")
        warm(console)
        host = Host(settings, offers, lambda text: say(console, printable(text)))
        people = host.people

        def show(server: EmbeddedServer) -> None:
            url = _address(server) if people is None else f"{_address(server)}#{people.token}"
            if people is None:
                say(console, f"play at {url} (Ctrl-C ends it)")
            else:
                say(console, f"start page: {url} (Ctrl-C ends it)")
                say(console, "it has the link of each person, and starts the game: keep this address secret")
            if lan:
                say(console, f"in this network: {_address(server, lan=True)}", "bold")
                seen = "play, and see the votes of your bots" if people is None else "watch the game"
                say(console, f"anybody who can reach this address may {seen}", "yellow")
            elif people is not None:
                say(console, "the links work on this machine only; with --lan also on other devices in this network", "yellow")
            if open_page and not webbrowser.open(url):
                say(console, "found no browser: open this address yourself", "yellow")

        async def serve() -> None:
            async with serving(host, ALL_INTERFACES if lan else LOOPBACK) as server:
                await server.until_signal(show)

        asyncio.run(serve())


@contextlib.asynccontextmanager
async def serving(host: Host, address: str) -> AsyncIterator[EmbeddedServer]:
    """Serve the page and the games of `host` within the ``async with`` block, on the IP address `address`."""
    settings = ServerSettings(host=address, port=host.settings.port, keys="registered")
    async with EmbeddedServer(settings, routes=(lambda app: add_routes(app, host),)) as server, host.playing_on(server):
        if host.people is not None:
            host.people.address = _address(server, lan=address == ALL_INTERFACES)
        yield server


def _address(server: EmbeddedServer, *, lan: bool = False) -> str:
    """Return the address of the page for this machine, or with `lan` for the machines in its network."""
    return (f"http://{lan_address()}:{server.port}" if lan else server.url) + PATH
