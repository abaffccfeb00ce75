"""``vindibot play``: whole games of a bot, one after another or several at once, on another server or on our embedded server."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import secrets
import webbrowser
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Literal

from pydantic import SecretStr
from rich.console import Console, Group, RenderableType
from rich.segment import SegmentLines
from rich.status import Status

from sim import generator
from sim.game import PLIES_PER_ROUND, SEATS
from sim.generator import derive_seed, generate
from sim.maps import Map
from vindibot.base import interrupts, log
from vindibot.base.console import plain_table
from vindibot.base.errors import VindibotError
from vindibot.base.text import counted, printable
from vindibot.client.game_client import ClientSettings
from vindibot.client.keys import require_key
from vindibot.config.bots import Bot, load_bot
from vindibot.config.load import Config
from vindibot.config.maps import load_map, map_text
from vindibot.config.settings import PlaySettings, cores
from vindibot.engine.agent import Voters
from vindibot.engine.warmup import Preview, load_beside, warm
from vindibot.games.files.recorded_turn import Continuation
from vindibot.games.files.recording import recording_folder_problem
from vindibot.games.outcome import Reason
from vindibot.server.game_server import GameServer
from vindibot.server.lobby import RANDOM_BOT
from vindibot.server.room import Room, RoomObserver
from vindibot.server.settings import ServerSettings
from vindibot.session.pacing import GamePace
from vindibot.session.play_report import next_steps, rivals_of, show_comparison
from vindibot.session.player import GamePlayer, Report, finish_opponents, start_voters
from vindibot.terminal.board import Frame
from vindibot.terminal.display import Display, fitting_lines
from vindibot.terminal.keyboard import keyboard
from vindibot.viewer.live import LiveViewer

#: The session ends if the server answers this number of attempts to join, one after another, with an invalid answer.
MAX_INVALID_JOINS = 3
#: Largest number of seconds to wait at the end until the browser has loaded the games.
BROWSER_TIMEOUT = 15.0
#: In a game with a pace for people, the first move waits until the browser has opened the page, at most this number of seconds.
OPEN_TIMEOUT = 10.0
#: Largest number of seconds that our bot waits for its next turn in a game that can be paused.
PAUSED_TIMEOUT = 7 * 86_400.0
#: Number of lines that the command prints after the last board: the result (two lines if names are long) and the recording.
LINES_BELOW = 4
#: Number of lines around the board that a person sees while kernels are compiled: a line of text, and the progress bar.
BAR_LINES = 2


@dataclass
class Participant:
    """A bot that plays in our games, its key on the server, and its traits."""

    bot: Bot
    key: SecretStr
    voters: Voters


@dataclass
class Session:
    """All games of one `vindibot play` command.

    `rivals` are the bots of the other three heroes, in the order in which they move after our hero; None is a random bot of the
    server. It is empty in training games, and in games on another server. `start` is the turn from which the games go on, None
    for games from the first turn.
    """

    config: Config[PlaySettings]
    console: Console
    bot: Bot
    rivals: tuple[Bot | None, ...]
    seed: int
    start: Continuation | None = None
    display: Display | None = None
    server: GameServer | None = None
    viewer: LiveViewer | None = None
    pace: GamePace | None = None
    key: SecretStr = field(default_factory=lambda: SecretStr(""))
    reports: list[Report] = field(default_factory=list)
    interrupted: bool = False
    _progress: Status | None = None  # the number of the running game, if no game is shown
    _has_keys: bool = False
    _main: asyncio.Task[None] | None = None
    refused: bool = False  # a game could not be joined, so further games are not tried
    _invalid_joins: int = 0  # in a row
    _numbers: Iterator[int] = field(default_factory=lambda: iter(()))
    _playing: set[GamePlayer] = field(default_factory=set)
    _noted: set[str] = field(default_factory=set)  # the messages of `_note_once`

    @property
    def settings(self) -> PlaySettings:
        return self.config.settings

    # -- Games --

    async def run(self) -> None:
        """Play all games. The first interrupt ends the running games after their current turn, a second one ends them at once."""
        settings = self.settings
        parallel = min(settings.parallel, settings.games, cores())
        if parallel < min(settings.parallel, settings.games):
            self.console.print(f"playing {counted(parallel, 'game')} at once: there are no more cores", style="dim")
        self._numbers = iter(range(1, settings.games + 1))
        problem: BaseExceptionGroup[VindibotError] | None = None
        async with AsyncExitStack() as stack:
            stack.enter_context(self._interruptible())
            if settings.games > 1 and settings.shown == "none" and self.console.is_terminal:
                self._progress = stack.enter_context(self.console.status(self._name(1), refresh_per_second=4))
            paced = settings.paced(self.console.is_terminal)
            if settings.embedded:
                pace: Literal["original", "none"] = "original" if settings.pace == "original" else "none"
                server = ServerSettings(time_limit_ms=settings.time.limit_ms or 1000, pace=pace)
                kind = _kind_of_server(watched=paced or settings.open or self.console.is_terminal)
                self.server = await stack.enter_async_context(kind(server, [_PlyFeed(self._playing)] * paced))
                self.console.print(f"our own server listens on {self.server.url}", style="dim", highlight=False)
            elif settings.mode == "arena":
                self._note(f"waiting for a game on {settings.server}: it begins when four clients wait")
            if paced:
                self.pace = stack.enter_context(self._paced())
            if settings.open:
                await stack.enter_async_context(self._shown_in_browser())
            elif self.pace is not None:
                self.pace.begin()
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(parallel):
                        group.create_task(self._play_in_turn(parallel))
            except* VindibotError as problems:
                problem = problems
        if problem is not None:
            raise _first(problem)

    async def _play_in_turn(self, parallel: int) -> None:
        """Play games one after another, with the same worker processes, until none is left."""
        async with self._participants(parallel) as participants:
            for number in self._numbers:
                if self.interrupted or self.refused:
                    break
                if self._progress is not None:
                    self._progress.update(self._name(number))
                await self._game(number, participants)

    def _name(self, number: int) -> str:
        return f"game {number} of {self.settings.games}" if self.settings.games > 1 else f"game {number}"

    @asynccontextmanager
    async def _participants(self, parallel: int) -> AsyncIterator[list[Participant]]:
        """Start the traits of our bot and of its opponents, and rehearse a turn. Yield the participants, our bot first.

        There are opponents only in games on our own server.
        """
        pool = self.settings.pool
        own_workers = pool.workers or max(1, cores() // parallel)
        opponents = [(bot, 1) for bot in self.rivals if bot is not None]
        async with AsyncExitStack() as stack:
            participants = []
            for bot, workers in [(self.bot, own_workers), *opponents]:
                all_prints = self.settings.log.prints == "all"
                started = await start_voters(stack, bot, pool, workers=workers, all_prints=all_prints)
                key = SecretStr(self.server.register(bot.name)) if self.server is not None else self.key
                log.add_secret(key)
                participants.append(Participant(bot, key, started))
            yield participants

    async def _game(self, number: int, participants: list[Participant]) -> None:
        """Play one game with all participants, and store its report."""
        if self.server is not None:
            self._arrange(self.server, participants, number)
        players = [self._player(participant, seat, number) for seat, participant in enumerate(participants)]
        self._playing.update(players)
        self._show_pace()
        tasks = [asyncio.create_task(player.play()) for player in players[1:]]
        try:
            report = await players[0].play()
        finally:
            for player in players[1:]:
                player.stop_after_turn()
            await finish_opponents(tasks)
            self._playing.difference_update(players)
        if not self._playing:
            self.leave_board()  # so that the report is below the last board
        if report.outcome.reason is Reason.LEAGUE_OVER:
            self.refused = True
            self._note(report.outcome.message)
            return
        self.reports.append(report)
        invalid = report.last is None and report.outcome.reason is Reason.PROTOCOL_ERROR
        self._invalid_joins = self._invalid_joins + 1 if invalid else 0
        self.refused |= self._invalid_joins >= MAX_INVALID_JOINS if invalid else report.last is None
        self._print_report(number, report)

    def _player(self, participant: Participant, seat: int, number: int) -> GamePlayer:
        settings = self.settings
        participant.voters.begin_game()
        embedded = self.server is not None
        client = ClientSettings(
            server=self.server.url if self.server is not None else settings.server,
            key=participant.key,
            mode="arena" if embedded and self.rivals else settings.mode,
            turns=None if embedded else settings.rounds,
            map=None if embedded else map_text(settings.map),
            allow_old_domain=settings.allow_old_domain,
            ask_missing=not embedded,
            time_limit=(settings.time.limit_ms or 1000) / 1000,
            connect_timeout=settings.connect_timeout_s,
            join_timeout=settings.join_timeout_s,
            move_timeout=ClientSettings.model_fields["move_timeout"].default if self.pace is None else PAUSED_TIMEOUT,
        )
        folder = settings.recording.folder if settings.recording.enabled and seat == 0 else None
        player = GamePlayer(
            client,
            participant.bot,
            participant.voters,
            seed=derive_seed(self.seed, "bot", number, participant.bot.name, seat),
            margin=settings.time.margin_ms / 1000,
            nodes=settings.pool.nodes,
            folder=folder,
            display=self.display if seat == 0 else None,
            title=f"game {number}" if settings.games > 1 else "",
            notify=self._note if seat == 0 else None,
            observer=self.viewer.game() if self.viewer is not None and seat == 0 else None,
            notify_page=None if embedded else self._note_once,
        )
        if self.start is not None:
            player.go_on_after(self.start.opening)
        return player

    def _arrange(self, server: GameServer, participants: list[Participant], number: int) -> None:
        """Reserve the seats of game `number` on our own server.

        Without rivals, our bot is hero 1 and plays against random bots. Against other bots, our bot has another hero in each
        game. In a game that goes on from a turn, our bot has the hero of this turn.
        """
        training = not self.rivals
        keys = iter([participant.key.get_secret_value() for participant in participants])
        seats = [next(keys), *(RANDOM_BOT if bot is None else next(keys) for bot in self.rivals or (None,) * (SEATS - 1))]
        hero = 0 if training else number - 1 if self.start is None else self.start.hero
        first = -hero % SEATS
        seats = seats[first:] + seats[:first]
        board = self.start.first() if self.start is not None else self._map(number)
        seed = derive_seed(self.seed, "game", number)
        server.lobby.arrange(board, seats, rounds=self.settings.rounds, seed=seed, training=training, pacer=self.pace)

    def _map(self, number: int) -> Map:
        return load_map(self.settings.map) or generate(derive_seed(self.seed, "game", number))

    def preview(self) -> Preview | None:
        """Return the first board, which a person sees while kernels are compiled. None if it is not known, or not shown."""
        on_board = self.console.is_terminal and not self.console.is_dumb_terminal and self.settings.shown in ("auto", "board")
        return Preview(generator, self._draw_first) if on_board and self.settings.embedded and self.start is None else None

    def _draw_first(self) -> RenderableType:
        names = [bot.name if bot is not None else "random" for bot in (self.bot, *(self.rivals or (None,) * (SEATS - 1)))]
        frame = Frame(self._map(1).new_game(self.settings.rounds * PLIES_PER_ROUND), 0, names)
        lines = fitting_lines(frame, self.console, BAR_LINES)
        text = "the board of the first game, which begins when all is compiled:"
        return Group(text, SegmentLines(lines, new_lines=True)) if lines is not None else ""

    @asynccontextmanager
    async def _shown_in_browser(self) -> AsyncIterator[None]:
        """Serve the pages of our games within the block, and open the first page in the browser.

        At the end, wait at most `BROWSER_TIMEOUT` seconds until the browser has loaded the games.
        """
        async with LiveViewer() as self.viewer:
            self._note(f"our games are shown on {self.viewer.address}")
            opening = asyncio.create_task(self._open(self.viewer))
            try:
                yield
                if self.reports and not self.interrupted and not await self.viewer.all_sent(BROWSER_TIMEOUT):
                    self._note("no browser has shown the games; `vindibot replay RECORDING --open` shows them later")
            finally:
                opening.cancel()
                await asyncio.gather(opening, return_exceptions=True)

    async def _open(self, viewer: LiveViewer) -> None:
        """Open the page of the first game in the browser.

        If the game has a pace for people, it begins when the page is open.
        """
        if self.pace is not None:
            self.pace.wait_for("the game waits for its page")
        await viewer.first.wait()
        page = viewer.page(next(iter(viewer.games)))
        if self.pace is not None:
            self._note(f"the game begins as soon as its page is open, at the latest after {OPEN_TIMEOUT:.0f} s")
        async with asyncio.TaskGroup() as group:
            group.create_task(self._open_in_browser(page))
            if self.pace is not None:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(OPEN_TIMEOUT):
                        await viewer.opened.wait()
                self.pace.begin()

    async def _open_in_browser(self, page: str) -> None:
        if not await asyncio.to_thread(webbrowser.open, page):
            self._note(f"found no browser: open {page} yourself")

    # -- The pace --

    @contextmanager
    def _paced(self) -> Iterator[GamePace]:
        """Yield a pace at which people can watch the games. In a terminal, keys change the pace within the ``with`` block."""
        rounds = self.settings.rounds if self.start is None else self.start.rounds
        pace = GamePace(rounds, self._show_pace, self._interrupt)
        with ExitStack() as stack:
            if self.console.is_terminal:
                self._has_keys = stack.enter_context(keyboard(pace.press, lambda: pace.rest(self.leave_board), pace.go_on))
            if self._has_keys and not (self.display is not None and self.display.live_board):
                self._note(f"keys: {pace.status}")
            yield pace

    def leave_board(self) -> None:
        """End the live board, so that further output is below it."""
        if self.display is not None:
            self.display.leave_board()

    def _show_pace(self) -> None:
        for player in self._playing:
            player.set_status(self.pace.status if self.pace is not None and self._has_keys else "")

    # -- Interrupts and messages --

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Within the ``with`` block, call `_interrupt` for each Ctrl-C, SIGTERM and SIGHUP."""
        self._main = asyncio.current_task()
        with interrupts.calling(self._interrupt, asyncio.get_running_loop()):
            yield

    def _interrupt(self) -> None:
        """End the running games after their current turn. The second call ends all games at once."""
        if self._main is None or self._main.cancelling():
            return
        if self.interrupted or not self._playing:
            self._main.cancel()
        else:
            self.console.print("stopping after this turn; once more to stop at once", style="yellow")
        self.interrupted = True
        if self.pace is not None:
            self.pace.end()
        for player in list(self._playing):
            player.stop_after_turn()

    def _note(self, text: str) -> None:
        self.console.print(printable(text), style="dim", markup=False, highlight=False, soft_wrap=True)

    def _note_once(self, text: str) -> None:
        if text not in self._noted:
            self._noted.add(text)
            self._note(text)

    def _print_report(self, number: int, report: Report) -> None:
        outcome = report.outcome
        text = report.result()
        if report.late_turns:
            text += f"; {counted(report.late_turns, 'late turn')}"
        if report.benched:
            text += f"; benched: {', '.join(report.benched)}"
        style = "bold green" if outcome.finished else "bold red"
        line = printable(f"{self._name(number)}: {outcome.reason}: {text}")
        self.console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)
        if report.recording is not None:
            self.console.print(f"recording: {report.recording}", style="dim", markup=False, highlight=False, soft_wrap=True)


@dataclass
class _PlyFeed(RoomObserver):
    """An observer of our own server. It gives each ply to the players of the game."""

    players: set[GamePlayer]

    def played(self, room: Room, move: int) -> None:
        """Give the last ply of a game to the players."""
        ply = room.history[-1]
        for player in list(self.players):
            player.played(room.id, ply)


def _kind_of_server(*, watched: bool) -> type[GameServer]:
    """Return the class of our own server: with pages if a person watches, else the core, which starts faster."""
    if not watched:
        return GameServer
    from vindibot.server.embedded import EmbeddedServer

    return EmbeddedServer


def _first(group: BaseExceptionGroup[VindibotError]) -> VindibotError:
    """Return the first error in a group, which may contain groups."""
    problem = group.exceptions[0]
    return _first(problem) if isinstance(problem, BaseExceptionGroup) else problem


def play_games(config: Config[PlaySettings], console: Console, start: Continuation | None = None) -> int:
    """Play the configured games, and return the exit code: 0 if all games finished, 1 if some failed, 130 after an interrupt.

    With `start`, the games go on from this turn of an earlier game.

    Raises `VindibotError` before the first game if the configuration or a bot makes all games impossible.
    """
    settings = config.settings
    for key, what in (("server", "the games run on our own server"), ("map", "the earlier game sets the map")):
        if start is not None and getattr(settings, key):
            raise config.refuse(key, f"does not go with --from: {what}")
    with ExitStack() as stack:
        stack.enter_context(log.configured(settings.log.level, settings.log.file, console))
        if not settings.pool.in_process:
            load_beside(*filter(None, (settings.bot, settings.against)))
        bot = load_bot(settings.bot)
        if start is not None:
            rivals = rivals_of(start, settings.against)
        else:
            rivals = (load_bot(settings.against),) * (SEATS - 1) if settings.against else ()
        if settings.embedded:
            load_map(settings.map)
        if settings.recording.enabled and (problem := recording_folder_problem(settings.recording.folder)):
            raise config.refuse("recording.folder", problem)
        seed = settings.seed if settings.seed is not None else secrets.randbits(48)
        session = Session(config, console, bot, rivals, seed, start)
        if not settings.embedded:
            session.key = require_key(settings.key, settings.key_file)
            log.add_secret(session.key)
        warm(console, session.preview())
        # From now on, the garbage collector does not visit the objects of all modules. It would take a part of a turn.
        gc.collect()
        gc.freeze()
        if settings.shown != "none":
            session.display = stack.enter_context(Display(live=settings.shown != "lines", below=LINES_BELOW))
            session.console = session.display.console
            stack.enter_context(log.configured(settings.log.level, settings.log.file, session.console))
        interrupts.at_once_again()  # an interrupt may come before or after the time in which the session handles interrupts
        try:
            asyncio.run(session.run())
        except (KeyboardInterrupt, asyncio.CancelledError):
            session.interrupted = True
        session.leave_board()
        _summary(session)
        if len(session.reports) == 1 and not session.interrupted and (recording := session.reports[0].recording):
            for line in next_steps(recording):
                console.print(line, markup=False, highlight=False, soft_wrap=True)
        failed = any(report.outcome.exit_code == 1 for report in session.reports)
        return 130 if session.interrupted else 1 if failed else 0


def _summary(session: Session) -> None:
    """Print the results of all games. After an interrupt, also print how to play the remaining games."""
    settings, reports, console = session.settings, session.reports, session.console
    if len(reports) > 1:
        finished = [report for report in reports if report.completed]
        heads = ("finished", "first", "second", "third", "fourth", "mean gold", "late turns")
        name = next((report.name for report in reports if report.name), session.bot.name)  # as in the tables of the server
        table = plain_table(*heads, title=printable(f"{name}: {counted(len(reports), 'game')}"))
        ranks = [report.rank for report in finished]
        mean = f"{sum(report.gold for report in finished) / len(finished):.1f}" if finished else "-"
        late = sum(report.late_turns for report in reports)
        table.add_row(str(len(finished)), *(str(ranks.count(rank)) for rank in range(1, 5)), mean, str(late))
        console.print(table)
    if session.start is not None:
        show_comparison(console, session.start, session.rivals, reports)
    if session.interrupted:
        left = settings.games - sum(report.outcome.finished for report in reports)
        again = f"; the same command with --games {left} plays the rest" if settings.games > 1 else ""
        interrupts.be_silent()
        console.print(f"interrupted: nothing that was played is lost{again}", style="yellow")
