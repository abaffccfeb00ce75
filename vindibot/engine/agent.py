"""The agent of one hero in one game. For each state, it makes a ballot (all votes and the move) before the deadline.

The agent first computes a fallback move, for the case that no vote comes in time. Then the traits vote. At the deadline the agent
sums their votes. The agent stores the recent states that traits see, so nothing is lost when a worker process is replaced.

Some work is done only at the first use: Python imports modules (numba imports `numpy.ma` for the first argument of a kernel),
traits compile functions of their own, a new process copies its memory. So `rehearse` uses everything once before the first turn
of a game. On a small machine on which several bots start, this may take longer than the time limit of a turn.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Protocol

import numpy as np
import structlog

from behaviours.base import RECENT_TURNS, Budget, View
from behaviours.classic.mine import MineFinder
from behaviours.classic.tavern import TavernFinder
from sim.game import GAME, PLIES_PER_ROUND, STAY, Games, copy_of
from sim.generator import generate
from sim.maps import Map, map_of
from sim.rules import step
from vindibot.base.system import supports_children, warn_of_traits_here
from vindibot.config.bots import Bot
from vindibot.engine.deadline import Deadline
from vindibot.engine.health import STRIKES, TraitHealth
from vindibot.engine.inline import Inline
from vindibot.engine.runner import Vote, run
from vindibot.games.ballot import Ballot, BallotEntry, tally
from vindibot.games.notes import NoteLimit
from vindibot.games.protocol import Player, encode_json, from_games, read_game, to_games

log = structlog.get_logger("vindibot.engine.agent")

#: The traits, with weights, that choose the move if no vote comes in time. The hero drinks if its life is low, and otherwise goes
#: to a mine.
FALLBACK = ((TavernFinder(), 1.0), (MineFinder(), 0.5))
#: A rehearsal: the search budget of each trait in nodes, and the rounds of the made-up game before the rehearsed turn.
REHEARSAL_NODES, REHEARSAL_ROUNDS = 200, 6


class Voters(Protocol):
    """The traits of a bot, which can be asked for votes. They run in worker processes (`Pool`) or in this process (`Inline`)."""

    health_records: list[TraitHealth]

    async def start(self) -> None:
        """Build the traits. Raises `VindibotError` if that fails."""

    async def ask(self, view: View, *, deadline: float, nodes: int | None = None) -> list[BallotEntry]:
        """Return one ballot entry per trait, with the latest votes of the trait before `deadline` (of `time.monotonic`).

        If all votes are final, this method returns before the deadline. The budget of `view` is ignored: `nodes` is the search
        budget of each trait in nodes; if it is None, a trait may search until the deadline.
        """
        raise NotImplementedError

    async def rehearse(self, view: View, *, nodes: int) -> None:
        """Let each worker run all traits once on `view`, before a game. Ignore the votes and the failures.

        The parameters are those of `ask`. There is no rehearsal of traits that run in this process.
        """

    def begin_game(self) -> None:
        """Give every trait a clean health record for a new game."""

    async def close(self) -> None:
        """Stop all traits and end their processes."""


@dataclass
class Agent:
    """Decides the moves of hero `me` (0..3) in one game. All randomness comes from `seed`.

    `nodes` is the search budget of each trait per move, in nodes. With None, a trait may search until the deadline.
    """

    voters: Voters
    me: int
    seed: int
    deadline: Deadline = field(default_factory=Deadline)
    nodes: int | None = None

    def __post_init__(self) -> None:
        self._seen: Games = np.zeros(4 * RECENT_TURNS, GAME)  # the states of our turns: the first `_count` rows, oldest first
        self._count = 0
        self._map: Map | None = None
        self._notes = NoteLimit()

    @property
    def recent(self) -> Games:
        """The states of our last turns, at most `RECENT_TURNS`, oldest first."""
        return self._seen[max(0, self._count - RECENT_TURNS) : self._count]

    def see(self, games: Games) -> None:
        """Store the state of an earlier turn of ours. Call this before the first decision, with the oldest state first."""
        self._view(games)

    async def decide(self, games: Games, received_at: float, limit: float, network: float = 0.0) -> Ballot:
        """Return the ballot (all votes and the move) for a state.

        All times are in seconds. `received_at` is the time (of `time.monotonic`) at which the state was received. `limit` is the
        server's time limit for the move. `network` is the part of this limit that the network needs for the move and the answer.
        """
        view = self._view(games)
        prepared = fallback(view)
        deadline = self.deadline.moment(received_at, limit, network)
        entries = await self.voters.ask(view, deadline=deadline, nodes=self.nodes)
        now = time.monotonic()
        self.deadline.decided(deadline, now)
        margin_ms = (received_at + limit - network - now) * 1000
        return tally(self._limited(entries), view.moves, lambda: view.rng("tie"), fallback=prepared, margin_ms=margin_ms)

    def decide_now(self, games: Games, limit: float | None = None) -> Ballot:
        """Return the ballot (all votes and the move) for a state. The traits vote in the calling thread.

        After `limit` seconds the stop word is set, which tells the traits to stop. If `limit` is None, it is never set. A trait
        that ignores the stop word runs on. If `nodes` is set and no trait runs out of time, `decide` returns the same ballot.
        Raises `TypeError` if the traits are in other processes.
        """
        if not isinstance(self.voters, Inline):
            raise TypeError("only traits in this process can vote without an event loop")
        began = time.monotonic()
        view = self._view(games, self.voters.budget(self.nodes))
        entries = self.voters.vote_now(view, limit)
        margin_ms = math.inf if limit is None else (began + limit - time.monotonic()) * 1000
        prepared = partial(fallback, view)
        return tally(self._limited(entries), view.moves, lambda: view.rng("tie"), fallback=prepared, margin_ms=margin_ms)

    def _limited(self, entries: list[BallotEntry]) -> list[BallotEntry]:
        """Return the entries without the notes that are too many for a game."""
        return [replace(entry, notes=self._notes.limited(entry.notes)) if entry.notes else entry for entry in entries]

    def _view(self, games: Games, budget: Budget | None = None) -> View:
        """Return the view of a state. The view has a copy of `games`, so the caller may change `games` afterwards."""
        recent, number = self.recent, self._count
        if number == len(self._seen):  # make a new array, since traits may still read the old one
            self._seen, number = np.zeros(4 * RECENT_TURNS, GAME), len(recent)
            self._seen[:number] = recent
        self._seen[number : number + 1] = games
        self._count = number + 1
        if self._map is None:
            self._map = map_of(games)
        now = self._seen[number : number + 1]
        return View(now, self.me, recent=recent, budget=budget, seed=self.seed, map=self._map)


def fallback(view: View) -> int:
    """Return the move of the `FALLBACK` traits: to a tavern if life is low, else to the nearest mine that the hero does not own.

    If neither trait votes, return Stay.
    """
    entries: list[BallotEntry] = []
    weights = dict(enumerate(FALLBACK))

    def publish(vote: Vote) -> None:
        number, votes, status = vote.trait, vote.votes, vote.status
        if status == "ok" and votes is not None:
            entries.append(BallotEntry("fallback", weights[number][1], list(votes)))

    run([(number, behaviour) for number, (behaviour, _) in enumerate(FALLBACK)], view, publish)
    if not entries:
        return STAY
    return tally(entries, view.moves, lambda: view.rng("fallback")).direction


def health_records(bot: Bot, strikes: int, *, all_prints: bool = False) -> list[TraitHealth]:
    """Return new health records of a bot's traits. After `strikes` failures, a trait is benched: it is not asked any more."""
    return [TraitHealth.of(spec.label, spec.weight, trait, strikes, all_prints=all_prints) for spec, trait in bot.build()]


def in_process_voters(bot: Bot, strikes: int = STRIKES) -> Inline:
    """Return voters that run a bot's traits in this process. A trait is benched after `strikes` failures."""
    return Inline([behaviour for _, behaviour in bot.build()], health_records(bot, strikes))


def voters(
    bot: Bot,
    *,
    workers: int,
    in_process: bool = False,
    grace: float = 0.1,
    strikes: int = STRIKES,
    all_prints: bool = False,
) -> Voters:
    """Return voters that run a bot's traits in `workers` worker processes, or in this process if `in_process` is True.

    On a system that cannot run child processes, the traits run in this process, and a warning says so.
    Start the voters before the first turn, and close them at the end. A worker is killed if it has not answered `grace` seconds
    after the deadline. A trait is benched after `strikes` failures. With `all_prints`, the terminal shows everything that traits
    in worker processes print.
    """
    if not in_process and not supports_children():
        warn_of_traits_here()
        in_process = True
    if in_process:
        return in_process_voters(bot, strikes)
    from vindibot.engine.pool import Pool  # it needs what other systems lack
    from vindibot.engine.worker import TraitPlan

    records = health_records(bot, strikes, all_prints=all_prints)
    plans = [TraitPlan(spec.class_path, dict(spec.parameters)) for spec in bot.traits]
    return Pool(plans, records, workers=workers, folders=bot.folders, grace=grace)


async def rehearse(voters: Voters) -> None:
    """Rehearse a turn in this process, and in each worker of `voters`, which have been started. Then begin a new game.

    The traits vote on a state of a made-up game. Their votes and failures count for nothing.
    """
    games, recent = _rehearsed_turn()
    state = read_game(encode_json(from_games(games, game_id="rehearsal", players=[Player("")] * 4)))
    view = View(to_games(state), 0, recent=recent)
    move = fallback(view)
    await voters.rehearse(view, nodes=REHEARSAL_NODES)
    tally([], view.moves, lambda: view.rng("tie"), fallback=move)
    voters.begin_game()


@cache
def _rehearsed_turn() -> tuple[Games, Games]:
    """Return a state of a game with random moves, in which hero 1 is to move, and the states on its turns before."""
    games = generate(1).new_game()
    rng, before = np.random.default_rng(1), []
    for ply, move in enumerate(rng.integers(0, 5, PLIES_PER_ROUND * REHEARSAL_ROUNDS).tolist()):
        if ply % PLIES_PER_ROUND == 0:
            before.append(copy_of(games))
        step(games, 0, move)
    return games, np.concatenate(before)
