"""``vindibot bench``: how long a bot's traits take, turn by turn, on recorded turns or in games played on the spot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from behaviours.base import RECENT_TURNS, Behaviour, View, as_votes
from sim.game import GAME, RUNNING, Game, mover
from sim.generator import generate
from sim.kernels import warm as warm_quietly
from sim.rules import step
from vindibot.base import printable
from vindibot.config import Bot, load_bot, short
from vindibot.devtools.asking import LIMIT, LIMIT_WITH_NODES, SECONDS, Traits, ask, traits_of
from vindibot.devtools.trial import TrialPosition
from vindibot.engine import Vote, debug_command, warm
from vindibot.games import BallotEntry, read_recording, tally

#: Who plays the games on the spot, and on which boards: (size, walls and mines in percent), None for what the seed gives.
PLAYERS = ("seed", "malvert", "seed", "malvert")
BOARDS: tuple[tuple[int, int | None, int | None], ...] = ((28, None, None), (28, 20, 9), (16, None, None))
#: Turns that are timed at most, unless asked for otherwise.
TURNS = 300


@dataclass
class Times:
    """How a trait did: its votes, each with the position it was asked on."""

    label: str
    votes: list[tuple[Vote, TrialPosition]] = field(default_factory=list)

    def percentile(self, percent: float) -> float:
        """Milliseconds that so many percent of the turns did not exceed; 0 before the first."""
        return float(np.percentile([vote.ms for vote, _ in self.votes], percent)) if self.votes else 0.0

    @property
    def worst(self) -> tuple[Vote, TrialPosition]:
        """The turn that took longest."""
        return max(self.votes, key=lambda one: one[0].ms)

    @property
    def failed(self) -> int:
        """Turns on which it raised, or gave no proper vote."""
        return sum(vote.status != "ok" for vote, _ in self.votes)

    @property
    def ended(self) -> bool:
        """Whether it did not come back on its last turn, and had to be ended."""
        return bool(self.votes) and self.votes[-1][0].status == "late"

    @property
    def depth(self) -> float | None:
        """The median depth of a search; None for a trait that tells none."""
        told = [vote.info.depth for vote, _ in self.votes if vote.info is not None and vote.info.depth is not None]
        return float(np.median(told)) if told else None

    @property
    def speed(self) -> float | None:
        """Thousands of nodes a second; None for a trait that does not count them."""
        told = [(vote.info.nodes, vote.ms) for vote, _ in self.votes if vote.info is not None and vote.info.nodes]
        ms = sum(one for _, one in told)
        return sum(nodes for nodes, _ in told) / ms if ms else None


@dataclass(frozen=True)
class RecordedPosition(TrialPosition):
    """A position that is a turn of a recording."""

    path: Path = Path()
    turn: int = 0


def recorded_positions(paths: Sequence[Path]) -> list[TrialPosition]:
    """Every turn of the recordings. Raises `RecordingError`."""
    found: list[TrialPosition] = []
    for path in paths:
        recording = read_recording(path)
        for own in recording.turns:
            past = recording.recent(own.turn, RECENT_TURNS)
            name = f"turn {own.turn} of {short(path)}"
            found.append(RecordedPosition(name, own.games, recording.me, past, recording.header.seed, path, own.turn))
    return found


def self_play(games: Game, seed: int) -> Iterator[View]:
    """A game of `PLAYERS` from the state in `games`, which is played on: the view of whoever is to move, ply by ply."""
    bots = [load_bot(name).build() for name in PLAYERS]
    warm_quietly()
    recent = [np.zeros(0, GAME)] * len(bots)
    while games[0]["status"] == RUNNING:
        me = mover(games)
        here = View(games, me, recent=recent[me], seed=seed)
        yield here
        said = [(spec.weight, as_votes(trait.vote(here))) for spec, trait in bots[me]]
        entries = [BallotEntry("", weight, None if votes is None else votes.tolist()) for weight, votes in said]
        recent[me] = np.concatenate((recent[me], games))[-RECENT_TURNS:]
        step(games, 0, tally(entries, here.moves, here.rng("tie")).direction)


def own_positions(seed: int = 1) -> Iterator[TrialPosition]:
    """The turns of all four heroes in one game on each of `BOARDS`; they follow from the seed."""
    for number, (size, walls, mines) in enumerate(BOARDS, 1):
        games = generate(seed + number, size=size, walls=walls, mines=mines).new_game()
        for here in self_play(games, seed):
            name = f"turn {here.turn} of game {number} on the spot"
            yield TrialPosition(name, games.copy(), here.me, here.recent, seed)


def spread(positions: Sequence[TrialPosition], most: int) -> list[TrialPosition]:
    """At most `most` of them, drawn by lot, always the same."""
    if len(positions) <= most:
        return list(positions)
    chosen = np.random.default_rng(len(positions)).choice(len(positions), most, replace=False)
    return [positions[place] for place in sorted(chosen.tolist())]


def measure(
    traits: Traits, positions: Sequence[TrialPosition], nodes: int | None, progress: Progress
) -> tuple[list[Times], bool]:
    """Ask each trait alone, on a view of its own, so that its time has in it what traits share within a turn. The times, and
    whether Ctrl-C cut it short. A trait that does not come back on a turn is not asked any more."""
    times = [Times(spec.label) for spec, _ in traits]
    seconds, limit = (SECONDS, LIMIT) if nodes is None else (None, LIMIT_WITH_NODES)
    task = progress.add_task("timing", total=len(positions))

    def time_turn(one: Times, behaviour: Behaviour, position: TrialPosition) -> None:
        if not one.ended:
            one.votes += [(vote, position) for vote in ask([behaviour], position.view(nodes), seconds, limit)]

    try:
        for one, (_, behaviour) in zip(times, traits, strict=True) if positions else ():
            time_turn(one, behaviour, positions[0])
            if not one.ended:  # the first call of anything has to load things, and does not count
                one.votes.clear()
        for position in positions:
            for one, (_, behaviour) in zip(times, traits, strict=True):
                time_turn(one, behaviour, position)
            progress.advance(task)
    except KeyboardInterrupt:
        return times, True
    return times, False


def table_of(times: Sequence[Times]) -> Table:
    """Milliseconds of each trait; depth and speed where there are searches, failures where there were any."""
    searches, failures = any(one.depth is not None or one.speed is not None for one in times), any(one.failed for one in times)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("trait", overflow="ellipsis", no_wrap=True)
    heads = ["turns", "median ms", "p99 ms", "worst ms", *(["depth", "knodes/s"] * searches), *(["failed"] * failures)]
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    for one in times:
        if not one.votes:
            continue
        vote, _ = one.worst
        cells = [str(len(one.votes)), *(f"{ms:.3f}" for ms in (one.percentile(50), one.percentile(99), vote.ms))]
        if searches:
            cells += ["" if one.depth is None else f"{one.depth:g}", "" if one.speed is None else f"{one.speed:.0f}"]
        cells += [str(one.failed)] * failures
        table.add_row(Text(printable(one.label)), *cells)
    return table


def _failures(one: Times, bot: Bot) -> list[str]:
    """What went wrong with a trait, each kind once and three at most, with the command that shows it where there is one."""
    first: dict[str, TrialPosition] = {}
    for vote, position in one.votes:
        if vote.note:
            first.setdefault(vote.note, position)
    lines = []
    for note, position in sorted(first.items(), key=lambda item: item[0])[:3]:
        lines.append(f"{one.label}: {note}, {position.name}{'; it was not asked again' if one.ended else ''}")
        if isinstance(position, RecordedPosition):
            command = debug_command(position.path, position.turn, one.label, short(bot.path))
            lines.append(f"to see {one.label} fail: {command}")
    return lines


def time_traits(
    console: Console, bot: Bot, recordings: Sequence[Path], *, nodes: int | None, most: int = TURNS, only: Sequence[str] = ()
) -> int:
    """Time a bot's traits and print the table; the exit code (130 if Ctrl-C cut it short). Raises `VindibotError`."""
    traits = traits_of(bot, only)
    warm(console)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        if recordings:
            positions = recorded_positions(recordings)
        else:
            task = progress.add_task("playing games to time them on", total=len(BOARDS) * 1200)
            positions = []
            for position in own_positions():
                positions.append(position)
                progress.advance(task)
            progress.remove_task(task)
        times, interrupted = measure(traits, spread(positions, most), nodes, progress)
    if not positions:
        console.print("there are no turns in these recordings", style="yellow")
        return 1
    budget = f"{nodes} nodes" if nodes is not None else f"{SECONDS:g} s"
    console.print(f"{printable(bot.name)}: each trait alone, with a budget of {budget}", markup=False, highlight=False)
    console.print(table_of(times))
    for one in times:
        if one.votes:
            vote, position = one.worst
            worst = f"{printable(one.label)}: worst turn {vote.ms:.3f} ms, {printable(position.name)}"
            console.print(worst, markup=False, highlight=False, soft_wrap=True)
        for line in _failures(one, bot):
            console.print(printable(line), markup=False, highlight=False, soft_wrap=True, style="red")
    if interrupted:
        console.print("interrupted: the table holds what had been timed by then", style="yellow")
    return 130 if interrupted else 0
