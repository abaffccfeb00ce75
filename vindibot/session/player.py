"""One game of a bot: the client receives states, the agent decides, and each turn is recorded, shown and logged.

On each turn, the move is sent first. The turn is recorded and shown afterwards, while the server waits for the other players.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import structlog

from sim.game import DIRECTIONS, Game, Games
from vindibot.base import log
from vindibot.base.text import counted
from vindibot.client.game_client import ClientEvents, ClientSettings, GameClient
from vindibot.client.queue import GameQueue
from vindibot.config.bots import Bot
from vindibot.config.files import shipped_folder, short
from vindibot.config.settings import PoolSettings
from vindibot.engine.agent import Agent, Voters, rehearse, voters
from vindibot.engine.deadline import Deadline
from vindibot.engine.runner import debug_command
from vindibot.games.ballot import Ballot, new_failures, write_entry
from vindibot.games.files.recording import Header, LastState, Recorder, TraitHeader
from vindibot.games.history import Ply
from vindibot.games.outcome import Outcome, ranks, result_text
from vindibot.games.position import Position
from vindibot.games.protocol import Answer, GameState, answer_games
from vindibot.terminal.display import Display, GameDisplay

_log = structlog.get_logger("vindibot.session.player")
#: Seconds from the decision of a move until its turn is recorded, and from the first state until the recording begins. In this
#: time the client sends the move, or the traits begin to vote.
RECORD_DELAY = 0.003
#: Least number of seconds between two notices about the same problem with joining.
RETRY_REPORT = 10.0
#: Largest number of seconds to wait until the opponents have received the end of a game.
FINISH_SECONDS = 2.0


@dataclass(frozen=True)
class Report:
    """The report of a game of our bot that has ended.

    - `outcome`: why the game ended, as a reason and a message.
    - `last`: the last answer of the server, None if we did not join.
    - `recording`: the path of the recording, None if there is none.
    - `late_turns`: the number of moves that were decided too late for the server's time limit.
    - `benched`: the labels of the traits that were benched.
    """

    outcome: Outcome
    last: Answer | None
    recording: Path | None
    late_turns: int = 0
    benched: tuple[str, ...] = ()

    @property
    def completed(self) -> bool:
        """Whether the game was played to its end and its last state is known."""
        return self.outcome.finished and self.last is not None

    @property
    def gold(self) -> int:
        """The gold of our hero at the end, 0 if unknown."""
        return self.last.game.heroes[self.last.hero.id - 1].gold if self.last is not None else 0

    @property
    def rank(self) -> int:
        """The rank of our hero by gold, 1 (best) to 4. Heroes with equal gold share a rank. 0 if unknown."""
        return ranks([hero.gold for hero in self.last.game.heroes])[self.last.hero.id - 1] if self.last is not None else 0

    @property
    def name(self) -> str:
        """The name of our hero on the server, "" if unknown."""
        return self.last.game.heroes[self.last.hero.id - 1].name if self.last is not None else ""

    def result(self) -> str:
        """Return the result in words, with the server's names. If the game was not completed, return the outcome's message."""
        if self.last is None or not self.completed:
            return self.outcome.message
        rivals = [(hero.name, hero.gold) for hero in self.last.game.heroes if hero.id != self.last.hero.id]
        return result_text(self.name, self.gold, rivals)


class GameObserver(Protocol):
    """Receives the turns and votes of one of our games while it is played.

    A subclass overrides the methods that it needs. They must return quickly and must not raise.
    """

    #: The path of the recording of the game, None if there is none. It is set before the first turn.
    recording: Path | None = None

    def turn(self, header: Header, state: GameState, games: Games, ballot: Ballot) -> None:
        """Handle one of our turns, shortly after its move was sent.

        `header` is the header of the recording. `state` is the state in which we decided, in the form of the protocol. `games` is
        the same state as an array of one `sim.game.Game`.
        """
        return

    def played(self, ply: Ply) -> None:
        """Handle a ply of any hero, immediately after it.

        This method is called only in games on our own server with a pace for people.
        """
        return

    def finished(self, outcome: Outcome, last: LastState | None) -> None:
        """Handle the end of the game. `last` is the last state that we received, None if we received none."""
        return


class GamePlayer(ClientEvents):
    """Plays one game for `bot` with the votes of `voters`, which must have been started. Call `play` only once.

    - `margin`: the safety margin before the server's time limit, in seconds.
    - `nodes`: the search budget of each trait per move, in nodes. With None, a trait may search until the deadline.
    - `folder`: the folder for the recording, None for no recording.
    - `display`: the display that shows the game, under `title`.
    - `notify`: a function that receives messages for people.
    - `observer`: an observer that receives the turns.
    - `notify_page`: a function that receives messages about pages of the server. It may get the same message in later games.

    Raises `UsageError` for an invalid address or key.
    """

    def __init__(
        self,
        settings: ClientSettings,
        bot: Bot,
        voters: Voters,
        *,
        seed: int,
        margin: float,
        nodes: int | None = None,
        folder: Path | None = None,
        display: Display | None = None,
        title: str = "",
        notify: Callable[[str], None] | None = None,
        observer: GameObserver | None = None,
        notify_page: Callable[[str], None] | None = None,
    ) -> None:
        self.settings, self.bot, self.voters, self.seed, self.nodes = settings, bot, voters, seed, nodes
        self._margin = margin
        self._folder = folder
        self._display, self._title = display, title
        self._shown: GameDisplay | None = None
        self._status = ""
        self._notify = notify or (lambda text: None)
        self._observer = observer
        self._notify_page = notify_page or (lambda text: None)
        self._opening: Position | None = None
        self._client = GameClient(settings)
        self._agent: Agent | None = None
        self._header: Header | None = None
        self._recorder: Recorder | None = None
        self._first: Answer | None = None  # the first answer, until the beginning of the game has been shown
        self._decided: list[tuple[Answer, Games, Ballot]] = []  # turns that are not recorded yet
        self._reported: set[tuple[str, str]] = set()  # the failures so far: label of a trait, kind of failure
        self._late_turns = 0
        self._attempts: Counter[str] = Counter()  # failed attempts to join, by the problem
        self._noted_at = 0.0  # time of the last notice about them
        self._missing, self._waits_for = 0, ""  # the last notices about missing clients and about what a league waits for

    def go_on_after(self, opening: Position) -> None:
        """Let the traits see `opening`, the part of the game so far, as if the bot had played it. Call this before `play`."""
        self._opening = opening

    def stop_after_turn(self) -> None:
        """End the game after the current turn; see `GameClient.stop_after_turn`."""
        self._client.stop_after_turn()

    def played(self, game: str, ply: Ply) -> None:
        """Show the ply `ply`, which our own server has played in the game with the id `game`.

        Ignore plies of other games, and plies before our first turn.
        """
        if self._header is None or self._header.game != game:
            return
        self._record_turns()
        if self._observer is not None:
            self._observer.played(ply)
        if self._shown is not None:
            self._shown.played(ply)

    def set_status(self, status: str) -> None:
        """Show a line of text below the live board, "" for no line."""
        self._status = status
        if self._shown is not None:
            self._shown.set_status(status)

    async def play(self) -> Report:
        """Join, play to the end, and return the report."""
        with log.context():
            try:
                async with self._client:
                    result = await self._client.play(self._decide, self)
                self._record_turns()
                benched = tuple(health.label for health in self.voters.health_records if health.benched)
                report = Report(result.outcome, result.last, self._recording_path, self._late_turns, benched)
                self._finish(report)
            finally:
                self._record_turns()
                if self._recorder is not None:
                    self._recorder.close()
            return report

    @property
    def _recording_path(self) -> Path | None:
        return self._recorder.path if self._recorder is not None else None

    # -- Turns --

    async def _decide(self, answer: Answer, games: Game, received_at: float) -> int:
        assert self._agent is not None
        games["training"] = self.settings.mode == "training"
        log.bind(turn=answer.game.turn)
        ballot = await self._agent.decide(games, received_at, self._client.time_limit, self._client.network_seconds)
        self._late_turns += ballot.margin_ms < 0
        self._decided.append((answer, games, ballot))
        asyncio.get_running_loop().call_later(RECORD_DELAY, self._record_turns)
        return ballot.direction

    def joined(self, answer: Answer) -> None:
        """Make the agent. The recording and the display follow shortly afterwards."""
        log.bind(game=answer.game.id, hero=answer.hero.id)
        self._agent = Agent(self.voters, answer.hero.id - 1, self.seed, Deadline(self._margin), self.nodes)
        for before in self._opening.turns_of(self._agent.me) if self._opening is not None else ():
            self._agent.see(before)
        self._header = Header(
            bot=self.bot.name,
            traits=tuple(
                TraitHeader(label=trait.label, weight=trait.weight, use=trait.use, parameters=dict(trait.parameters))
                for trait in self.bot.traits
            ),
            game=answer.game.id,
            hero=answer.hero.id,
            mode=self.settings.mode,
            server=self.settings.server,
            seed=self.seed,
            limit_ms=self._client.time_limit * 1000,
        )
        self._first = answer
        asyncio.get_running_loop().call_later(RECORD_DELAY, self._begin)

    def _begin(self) -> None:
        """Start the recording and the display, unless they have been started or no game has begun."""
        answer, self._first = self._first, None
        if answer is None or self._header is None:
            return
        limit, network = self._client.time_limit * 1000, self._client.network_seconds * 1000
        hero = answer.hero.id
        self._notify(f"game {answer.game.id} begins: we are hero {hero}, {limit:.0f} ms a move, {network:.1f} ms on the network")
        if self._client.address.owns(answer.view_url):
            self._notify_page(f"its page: {answer.view_url}")
        if self._folder is not None:
            self._recorder = Recorder(self._folder, self._header)
            if self._observer is not None:
                self._observer.recording = self._recorder.path
        if self._display is not None:
            names = [hero.name for hero in answer.game.heroes]
            self._shown = self._display.game(names, hero - 1, self._title)
            self._shown.set_status(self._status)

    def _record_turns(self) -> None:
        """Record, show and log the turns that are decided but not recorded yet."""
        self._begin()
        while self._decided:
            answer, games, ballot = self._decided.pop(0)
            began = time.monotonic()
            if self._recorder is not None:
                self._recorder.turn(answer.game, ballot)
            if self._observer is not None and self._header is not None:
                self._observer.turn(self._header, answer.game, games, ballot)
            log_turn(ballot, turn=answer.game.turn)
            self._report_failures(answer.game.turn, ballot)
            if self._shown is not None:
                self._shown.turn(games, ballot, ballot.margin_ms)
            spent = time.monotonic() - began
            if spent > 0.1:
                _log.warning("recording and showing a turn took long", ms=round(spent * 1000), turn=answer.game.turn)

    def _report_failures(self, turn: int, ballot: Ballot) -> None:
        """Notify the user of each trait that failed, and of the command that shows the failure in the debugger.

        A trait is named only once per kind of failure.
        """
        for entry in new_failures(ballot, self._reported):
            path = self._recording_path
            how = f"; to see it: {debug_command(path, turn, entry.label, self._bot_file())}" if path is not None else ""
            self._notify(f"the trait {entry.label} failed on turn {turn}: {entry.note}{how}")

    def _bot_file(self) -> str:
        """Return the bot's file if `vindibot turn` needs it to find the traits that belong to the bot, else an empty text."""
        usual = (Path.cwd(), Path.cwd() / "bots", (self._folder or Path()).resolve())
        folders = {Path(folder) for folder in self.bot.folders if not Path(folder).is_relative_to(shipped_folder())}
        own = any(":" in trait.use for trait in self.bot.traits)
        return short(self.bot.path) if own and not folders <= {*usual} else ""

    def _finish(self, report: Report) -> None:
        outcome = report.outcome
        last = LastState(report.last.game, answer_games(report.last)) if report.last is not None else None
        if self._recorder is not None:
            self._recorder.finish(outcome, last.state if last is not None else None)
        if self._observer is not None:
            self._observer.finished(outcome, last)
        if self._shown is not None:
            result = replace(outcome, message=report.result())
            self._shown.finished(result, last.games if last is not None else None)

    # -- Events of the client --

    def retrying(self, problem: str, pause: float) -> None:
        """Notify the user of a failed attempt to join: once per problem, and then of the number of attempts from time to time."""
        now = time.monotonic()
        self._attempts[problem] += 1
        if self._attempts[problem] == 1:
            self._notify(f"{problem}; trying again in {pause:.1f} s")
        elif now - self._noted_at < RETRY_REPORT:
            return
        else:
            self._notify(f"{problem}; still trying, {self._attempts[problem]} attempts so far")
        self._noted_at = now

    def waiting(self, seconds: float) -> None:
        self._notify(f"waiting for the game to begin, {seconds:.0f} s so far")

    def queued(self, queue: GameQueue) -> None:
        """Notify the user of the page that shows our games, and of what our game waits for."""
        self._notify_page(f"watch our games on {queue.page or self._client.address.url('/')}")
        if queue.missing and queue.missing != self._missing:
            self._missing = queue.missing
            self._notify(f"waiting for {counted(queue.missing, 'more client')}")
        if queue.waits_for and queue.waits_for != self._waits_for:
            self._waits_for = queue.waits_for
            self._notify(queue.waits_for)


async def start_voters(stack: AsyncExitStack, bot: Bot, pool: PoolSettings, *, workers: int, all_prints: bool = False) -> Voters:
    """Start the traits of a bot, and rehearse a turn. Return the voters, which `stack` closes."""
    its_voters = voters(
        bot,
        workers=workers,
        in_process=pool.in_process,
        grace=pool.grace_ms / 1000,
        strikes=pool.strikes,
        all_prints=all_prints,
    )
    stack.push_async_callback(its_voters.close)
    await its_voters.start()
    await rehearse(its_voters)
    return its_voters


async def finish_opponents(tasks: Sequence[asyncio.Task[Report]]) -> None:
    """Wait at most `FINISH_SECONDS` until opponents have received the end of the game, then cancel the tasks that still run."""
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=FINISH_SECONDS)
    for task in late:
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, Exception):
            _log.warning("an opponent failed", reason=str(result))


def log_turn(ballot: Ballot, **more: Any) -> None:
    """Log the result of the vote on one turn at level debug: direction, time left, and the votes and time of each trait.

    In the log file, `traits` maps the label of each trait to its weight, votes (five numbers, or null), ms and status. If there
    is a note or the result of a search, the entry has it too, as in a recording. `more` are further fields of the log line.
    """
    if not _log.is_enabled_for(logging.DEBUG):
        return
    traits: dict[str, dict[str, Any]] = {}
    for entry in map(write_entry, ballot.entries):
        label = entry.pop("label")
        traits[label] = {key: value for key, value in entry.items() if value != ""}
    _log.debug(
        "turn decided",
        direction=DIRECTIONS[ballot.direction],
        margin_ms=round(ballot.margin_ms, 3),
        fallback=ballot.fallback,
        sums=ballot.sums,
        traits=traits,
        **more,
    )
