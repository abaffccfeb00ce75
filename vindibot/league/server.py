"""``vindibot serve``: a server with leagues: the whole server, the leagues in files, and their fillers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shlex
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

import structlog
from fastapi import FastAPI
from markupsafe import Markup
from pydantic import SecretStr
from rich.console import Console

from sim.generator import derive_seed
from sim.kernels import warm
from vindibot.base import log
from vindibot.base.address import lan_address
from vindibot.base.console import say
from vindibot.base.errors import VindibotError
from vindibot.base.pages import compile_templates, render
from vindibot.base.system import allow_many_files
from vindibot.client.game_client import ClientSettings
from vindibot.client.keys import check_key, read_key_file
from vindibot.config.bots import Bot, load_bot
from vindibot.config.files import shipped
from vindibot.config.load import Config
from vindibot.config.settings import PlaySettings
from vindibot.engine.warmup import load_beside, warm as warm_all
from vindibot.games.outcome import Reason
from vindibot.league.director import Director
from vindibot.league.league import ORGANISER_SUFFIX, League
from vindibot.league.organiser import add_league_routes, add_organiser
from vindibot.league.pages import add_league_pages
from vindibot.league.registry import LeagueRegistry
from vindibot.league.settings import LeagueServerSettings, play_command, start_text
from vindibot.server.embedded import AddRoutes, EmbeddedServer
from vindibot.server.game_server import GameServer
from vindibot.server.room import RoomObserver
from vindibot.server.settings import COMMAND_DEFAULTS
from vindibot.session.player import GamePlayer, start_voters

ALL_INTERFACES = "0.0.0.0"
ANY_ADDRESS = (ALL_INTERFACES, "::")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
#: Largest number of leagues whose addresses are printed.
MAX_LEAGUES = 5
#: Smallest number of fillers of a league. A game needs at most three of them.
FILLERS = 4
#: Seconds between two looks for new leagues, and after a failed game.
LOOK_SECONDS = 1.0
#: Seconds after which a filler asks again for a game of a league that is over.
OVER_SECONDS = 10.0
#: Largest number of seconds that a filler waits for the moves of the other heroes.
MOVE_SECONDS = 600.0

_log = structlog.get_logger("vindibot.league.server")


class LeagueServer(EmbeddedServer):
    """An `EmbeddedServer` that plays the leagues of the setting `league`, and those that the administrator makes."""

    def __init__(
        self,
        settings: LeagueServerSettings | None = None,
        observers: Sequence[RoomObserver] = (),
        routes: Sequence[AddRoutes] = (),
    ) -> None:
        settings = settings or LeagueServerSettings()
        self._path = settings.league
        super().__init__(settings, observers, [self._add_leagues, *routes], [self._section])

    def _add_leagues(self, app: FastAPI) -> None:
        self.leagues = LeagueRegistry(self.lobby, self._path)
        if self.administration is not None:
            add_league_routes(app, self.administration, self.leagues, self.settings)
        add_league_pages(app, self.leagues, self.reviews, self.bot_pages)
        add_organiser(app, self.leagues, self.settings, self.administration)

    def _section(self) -> Markup:
        return render("league/section.html", leagues=self.leagues.states())

    async def __aenter__(self) -> Self:
        warm()  # before the leagues, because their clocks run as soon as they are open
        try:
            self.leagues.open()
            return await super().__aenter__()
        except VindibotError:
            await self.leagues.close()
            await self.database.close()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.leagues.close()
        await super().__aexit__(kind, error, traceback)


def run_server(settings: LeagueServerSettings, ready: Callable[[LeagueServer], None] | None = None) -> None:
    """Serve in a new event loop until SIGINT, SIGTERM or SIGHUP. Call `ready` with the server once it listens.

    While the server listens, fillers play in its leagues. Raises `ServerError`.
    """

    async def serve() -> None:
        compile_templates("base", "viewer", "server.site", "league")  # slow: done here so that no game has to wait for it
        async with LeagueServer(settings) as server, filling(server, server.leagues):
            await server.until_signal(ready)

    asyncio.run(serve())


def admin_key(path: Path | None, variable: str) -> str | None:
    """Return the administrator's key from the file `path` or from an environment variable, or None. Raises `UsageError`."""
    if path is not None:
        return read_key_file(path).get_secret_value()
    text = os.environ.get(variable, "")
    return check_key(text, variable).get_secret_value() if text else None


def serve(loaded: Config[LeagueServerSettings], console: Console) -> None:
    """Serve until Ctrl-C, with the defaults of ``vindibot serve``. A league is for the bots of its roster, unless an option says
    which keys are accepted. Raises `VindibotError`."""
    defaults = {key: value for key, value in COMMAND_DEFAULTS.items() if key not in loaded.origins}
    if loaded.settings.league is not None and loaded.origin("keys").kind != "option":
        defaults["keys"] = "registered"
    settings = loaded.settings.model_copy(update=defaults)
    warm_all(console)
    allow_many_files()  # each waiting client needs a socket
    log.add_secret(settings.admin_key)
    with log.configured(console=console):
        run_server(settings, lambda server: _print_address(console, server))


def _print_address(console: Console, server: LeagueServer) -> None:
    """Print the address of the server, and a warning if other machines can reach it."""
    host, address = server.settings.host, server.url
    say(console, f"serving on {address} (Ctrl-C stops it)")
    if host in ANY_ADDRESS:
        address = f"http://{lan_address()}:{server.port}"
        say(console, f"in this network: {address}", "bold")
    if host not in LOOPBACK:
        players = "anyone with any key" if server.settings.keys == "any" else "anyone who registers"
        say(console, f"other machines can reach this address: {players} may play", "yellow")
    for director in list(server.leagues.directors.values())[:MAX_LEAGUES]:
        _print_league(console, director.league, server, address)


def _print_league(console: Console, league: League, server: LeagueServer, address: str) -> None:
    """Print the addresses of a league's pages, the command that starts it, and the command with which bots join."""
    start = league.settings.start if league.state == "waiting" else None
    state = league.state if start is None else f"starts at {start_text(start)}"
    say(console, f"league {league.name}: {league.progress()}, {state}")
    say(console, f"  projector: {address}/leagues/{league.name}/projector", "bold")
    if league.path is not None and league.organiser is not None:
        key_file = league.path.parent / f"{league.name}{ORGANISER_SUFFIX}"
        say(console, f"  organiser: {address}/leagues/{league.name}/organiser (the key is in {key_file})")
        if league.state == "waiting":
            where = [] if server.port == COMMAND_DEFAULTS["port"] else ["--server", server.url]
            command = shlex.join(["vindibot", "league", "start", str(league.path), *where])
            say(console, f"  to start the games, in another terminal: {command}")
    if league.settings.fillers and not league.over:
        say(console, f"  for missing bots: {', '.join(league.settings.fillers)}")
    if not league.over:
        say(console, "  a bot joins with this command, with its own key and name:")
        say(console, f"    {play_command(league.settings, address)}", "bold")


# ---- Fillers: bots that come with vindibot and play for missing bots, as clients of the server in this process ----


@asynccontextmanager
async def filling(server: GameServer, leagues: LeagueRegistry) -> AsyncIterator[None]:
    """Let fillers play in all `leagues` of `server` that want them, within the ``async with`` block.

    The traits of each filler run in a worker process of its own. If fillers fail, random bots of the server play instead.
    """
    task = asyncio.create_task(_fill_all(server, leagues), name="vindibot-fillers")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _fill_all(server: GameServer, leagues: LeagueRegistry) -> None:
    """Start fillers for each league, also for leagues that are made later."""
    filled: set[str] = set()
    async with asyncio.TaskGroup() as group:
        while True:
            for name, director in list(leagues.directors.items()):
                if name not in filled and not director.league.over and director.league.settings.fillers:
                    filled.add(name)
                    group.create_task(_fill(server, director))
            await asyncio.sleep(LOOK_SECONDS)


async def _fill(server: GameServer, director: Director) -> None:
    """Let fillers play in one league until this task is cancelled."""
    files = [shipped(f"bots/{name}.toml") for name in director.league.settings.fillers]
    try:
        load_beside(*files)
        bots = await asyncio.to_thread(lambda: [load_bot(file) for file in files])
        async with asyncio.TaskGroup() as group:
            for number in range(max(FILLERS, len(bots))):
                group.create_task(_play(server, director, bots, number))
    except* VindibotError as problems:
        _log.error(
            "fillers cannot play; random bots play instead", league=director.league.name, reason=str(problems.exceptions[0])
        )


async def _play(server: GameServer, director: Director, bots: Sequence[Bot], number: int) -> None:
    """Let filler `number` of a league play game after game. The fillers share the `bots` among them."""
    bot = bots[number % len(bots)]
    pool, margin = PlaySettings().pool, PlaySettings().time.margin_ms
    key = SecretStr(await asyncio.to_thread(server.register, bot.name))
    log.add_secret(key)
    user = await server.lobby.user(key.get_secret_value())
    director.add_filler(user, number % len(bots))
    client = ClientSettings(server=server.url, key=key, mode="arena", move_timeout=MOVE_SECONDS)
    async with contextlib.AsyncExitStack() as stack:
        its_voters = await start_voters(stack, bot, pool, workers=1)
        for game in count(1):
            its_voters.begin_game()
            seed = derive_seed(secrets.randbits(48), "filler", number, game)
            report = await GamePlayer(client, bot, its_voters, seed=seed, margin=margin / 1000).play()
            if report.outcome.reason is Reason.LEAGUE_OVER:
                await asyncio.sleep(OVER_SECONDS)  # the organiser may still undo an absence
            elif not report.outcome.finished:
                _log.warning("a filler could not end its game", league=director.league.name, reason=report.outcome.message)
                await asyncio.sleep(LOOK_SECONDS)
