"""A bot's seat in one game: the client brings states, the agent decides, and what happened is recorded, shown and logged.

The order goes out first; recording and showing come after it, while the server is busy with the others.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import structlog

from sim.game import DIRECTIONS, Games
from vindibot.base import log
from vindibot.client import ClientEvents, ClientResult, ClientSettings, GameClient
from vindibot.config import Bot, shipped_folder, short
from vindibot.engine import Agent, Deadline, Voters, debug_command
from vindibot.games import Answer, Ballot, GameState, Header, LastState, Outcome, Recorder, TraitHeader, to_games
from vindibot.terminal import Display, GameDisplay

_log = structlog.get_logger("vindibot.session.player")
#: Seconds after an order at which its turn is recorded and shown: by then it is on its way.
AFTERWARDS = 0.003


@dataclass(frozen=True)
class FinalRank:
    """How a hero came out of a game: `rank` 1 is most gold, equal gold shares a rank."""

    hero: int
    name: str
    gold: int
    rank: int
    mine: bool


@dataclass(frozen=True)
class Report:
    """One game of ours, ended: how, whether we joined it at all, where its recording is (None if there is none), the final
    standing if known, and the labels of the traits that were benched."""

    outcome: Outcome
    joined: bool
    recording: Path | None
    places: tuple[FinalRank, ...] = ()
    late_turns: int = 0
    thinnest_margin_ms: float = float("inf")
    benched: tuple[str, ...] = ()

    @property
    def ours(self) -> FinalRank | None:
        """Our own place."""
        return next((place for place in self.places if place.mine), None)


class Onlooker(Protocol):
    """Who wants to see a game of ours with the votes, as it goes. Must return quickly and not raise."""

    def turn(self, header: Header, state: GameState, games: Games, ballot: Ballot) -> None:
        """A turn of ours, shortly after its order: the head of the recording, the state as on the wire and as a game."""

    def finished(self, outcome: Outcome, last: LastState | None) -> None:
        """How the game ended for us; the last state, if it reached us."""


class GamePlayer(ClientEvents):
    """Plays one game for `bot` through `voters`, which must have been started. Use `play` once."""

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
        tell: Callable[[str], None] | None = None,
        onlooker: Onlooker | None = None,
    ) -> None:
        self.settings, self.bot, self.voters, self.seed, self.nodes = settings, bot, voters, seed, nodes
        self._margin = margin
        self._folder = folder
        self._display, self._title = display, title
        self._shown: GameDisplay | None = None
        self._tell = tell or (lambda text: None)
        self._onlooker = onlooker
        self._client: GameClient | None = None
        self._agent: Agent | None = None
        self._head: Header | None = None
        self._recorder: Recorder | None = None
        self._afterwards: list[tuple[Answer, Games, Ballot]] = []
        self._failed: set[tuple[str, str]] = set()
        self._late_turns = 0
        self._thinnest = float("inf")

    def stop_after_turn(self) -> None:
        """End the game in order; see `GameClient.stop_after_turn`."""
        if self._client is not None:
            self._client.stop_after_turn()

    async def play(self) -> Report:
        """Join, play to the end, and report. Raises `UsageError` for an address or key that cannot be used."""
        with log.context():
            try:
                async with GameClient(self.settings) as self._client:
                    result = await self._client.play(self._decide, self)
                self._catch_up()
                self._finish(result)
            finally:
                self._catch_up()
                if self._recorder is not None:
                    self._recorder.close()
            path = self._recorder.path if self._recorder is not None else None
            benched = tuple(health.label for health in self.voters.health_records if health.benched)
            return Report(
                result.outcome, result.last is not None, path, places(result.last), self._late_turns, self._thinnest, benched
            )

    # -- a turn --

    async def _decide(self, answer: Answer, received_at: float) -> int:
        assert self._client is not None
        assert self._agent is not None
        games = to_games(answer.game)
        games["training"] = self.settings.mode == "training"
        log.bind(turn=answer.game.turn)
        ballot = await self._agent.decide(games, received_at, self._client.time_limit, self._client.network_seconds)
        self._thinnest = min(self._thinnest, ballot.margin_ms)
        self._late_turns += ballot.margin_ms < 0
        self._afterwards.append((answer, games, ballot))
        asyncio.get_running_loop().call_later(AFTERWARDS, self._catch_up)
        return ballot.direction

    def joined(self, answer: Answer) -> None:
        """Begin the recording: the first state is here, and says which hero we are."""
        assert self._client is not None
        me = answer.hero.id - 1
        log.bind(game=answer.game.id, hero=answer.hero.id)
        log.add_secret(answer.token, token=True)
        limit, network = self._client.time_limit * 1000, self._client.network_seconds * 1000
        self._tell(f"game {answer.game.id} begins: we are hero {me + 1}, {limit:.0f} ms a move, {network:.1f} ms on the network")
        self._agent = Agent(self.voters, me, self.seed, Deadline(self._margin), self.nodes)
        self._head = self._header(answer, self._client.time_limit)
        if self._folder is not None:
            self._recorder = Recorder(self._folder, self._head)
        if self._display is not None:
            self._shown = self._display.game([hero.name for hero in answer.game.heroes], me, self._title)

    def _header(self, answer: Answer, limit: float) -> Header:
        traits = tuple(
            TraitHeader(label=trait.label, weight=trait.weight, use=trait.use, parameters=dict(trait.parameters))
            for trait in self.bot.traits
        )
        return Header(
            bot=self.bot.name,
            traits=traits,
            game=answer.game.id,
            hero=answer.hero.id,
            mode=self.settings.mode,
            server=self.settings.server,
            seed=self.seed,
            limit_ms=limit * 1000,
        )

    def _catch_up(self) -> None:
        """Record, show and log the turns whose orders are out."""
        while self._afterwards:
            answer, games, ballot = self._afterwards.pop(0)
            began = time.monotonic()
            if self._recorder is not None:
                self._recorder.turn(answer.game, ballot)
            if self._onlooker is not None and self._head is not None:
                self._onlooker.turn(self._head, answer.game, games, ballot)
            log_turn(ballot, turn=answer.game.turn)
            self._tell_failures(answer.game.turn, ballot)
            if self._shown is not None:
                self._shown.turn(games, ballot, ballot.margin_ms)
            spent = time.monotonic() - began
            if spent > 0.1:
                _log.warning("recording and showing a turn took long", ms=round(spent * 1000), turn=answer.game.turn)

    def _tell_failures(self, turn: int, ballot: Ballot) -> None:
        """Name each trait that failed, once per kind of failure, with the command that shows it in the debugger."""
        for entry in ballot.entries:
            kind = "late" if entry.status in ("late", "killed") else entry.note.partition(":")[0]
            if not entry.note or (entry.label, kind) in self._failed:
                continue
            self._failed.add((entry.label, kind))
            path = self._recorder.path if self._recorder is not None else None
            how = f"; to see it: {debug_command(path, turn, entry.label, self._bot_file())}" if path is not None else ""
            self._tell(f"the trait {entry.label} failed on turn {turn}: {entry.note}{how}")

    def _bot_file(self) -> str:
        """The bot's file, if `vindibot turn` would not find the bot's own traits from the current folder without it."""
        found = (Path.cwd(), Path.cwd() / "bots", (self._folder or Path()).resolve())
        folders = {Path(folder) for folder in self.bot.folders if not Path(folder).is_relative_to(shipped_folder())}
        own = any(":" in trait.use for trait in self.bot.traits)
        return short(self.bot.path) if own and not folders <= {*found} else ""

    def _finish(self, result: ClientResult) -> None:
        outcome = result.outcome
        last = LastState(result.last.game, to_games(result.last.game)) if result.last is not None else None
        if self._recorder is not None:
            self._recorder.finish(outcome, last.state if last is not None else None)
        if self._onlooker is not None:
            self._onlooker.finished(outcome, last)
        if self._shown is not None:
            self._shown.finished(outcome, last.games if last is not None else None)

    # -- what the client tells --

    def retrying(self, problem: str, pause: float) -> None:
        self._tell(f"{problem}; trying again in {pause:.1f} s")

    def waiting(self, seconds: float) -> None:
        self._tell(f"waiting for the game to begin, {seconds:.0f} s so far")


def places(last: Answer | None) -> tuple[FinalRank, ...]:
    """The standing of a game's last state, best first; empty if there is none."""
    if last is None:
        return ()
    heroes = sorted(last.game.heroes, key=lambda hero: -hero.gold)
    ranks = {hero.id: 1 + sum(other.gold > hero.gold for other in heroes) for hero in heroes}
    return tuple(FinalRank(hero.id, hero.name, hero.gold, ranks[hero.id], hero.id == last.hero.id) for hero in heroes)


def log_turn(ballot: Ballot, **more: Any) -> None:
    """Tell what one turn's vote came to, at level debug: the order, the time left, and each trait's votes and time.

    In the file, `traits` maps each label to its weight, votes (five numbers, or null), ms and status, with a note where
    there is one, and depth, score and nodes where it searched. `more` are further fields.
    """
    if not _log.is_enabled_for(logging.DEBUG):
        return
    traits: dict[str, dict[str, Any]] = {}
    for entry in ballot.entries:
        traits[entry.label] = {"weight": entry.weight, "votes": entry.votes, "ms": round(entry.ms, 3), "status": entry.status}
        if entry.note:
            traits[entry.label]["note"] = entry.note
        if entry.info is not None:
            told = {"depth": entry.info.depth, "score": entry.info.score, "nodes": entry.info.nodes}
            traits[entry.label] |= {name: value for name, value in told.items() if value is not None}
    _log.debug(
        "turn decided",
        direction=DIRECTIONS[ballot.direction],
        margin_ms=round(ballot.margin_ms, 3),
        fallback=ballot.fallback,
        sums=ballot.sums,
        traits=traits,
        **more,
    )
