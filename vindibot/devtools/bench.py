"""``vindibot bench``: measure the time of a bot's traits per turn, on recorded turns or on turns of new games."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from behaviours.base import RECENT_TURNS, View, as_votes
from sim.game import GAME, RUNNING, Game, mover
from sim.generator import generate
from sim.kernels import warm as warm_quietly
from sim.rules import step
from vindibot.base import interrupts
from vindibot.base.console import say
from vindibot.base.text import counted, printable
from vindibot.config.bots import Bot, load_bot
from vindibot.config.files import short
from vindibot.devtools.explanation import trait_table
from vindibot.devtools.rerun import traits_of
from vindibot.engine.asking import LIMIT, LIMIT_WITH_NODES, SECONDS, Asker
from vindibot.engine.runner import Vote, debug_command
from vindibot.engine.trial import TrialPosition
from vindibot.engine.warmup import warm
from vindibot.games.ballot import BallotEntry, tally
from vindibot.games.files.recorded_turn import view
from vindibot.games.files.recording import read_recording

#: The players of new games, and the boards: (size, percent of walls, percent of mines). If a percentage is None, the seed of the
#: game decides it.
PLAYERS = ("seed", "malvert", "seed", "malvert")
BOARDS: tuple[tuple[int, int | None, int | None], ...] = ((28, None, None), (28, 20, 9), (16, None, None))
#: Default for the largest number of turns to measure.
TURNS = 300


@dataclass
class Times:
    """The votes of one trait, each with the position on which the trait was asked."""

    label: str
    votes: list[tuple[Vote, TrialPosition]] = field(default_factory=list)

    def percentile(self, percent: float) -> float:
        """Return a percentile of the time per turn, in milliseconds. Return 0 if there are no votes."""
        return float(np.percentile([vote.ms for vote, _ in self.votes], percent)) if self.votes else 0.0

    @property
    def worst(self) -> tuple[Vote, TrialPosition]:
        """The turn with the longest time."""
        return max(self.votes, key=lambda pair: pair[0].ms)

    @property
    def failed(self) -> int:
        """Number of turns on which the trait raised an error or gave no valid vote."""
        return sum(vote.status != "ok" for vote, _ in self.votes)

    @property
    def ended(self) -> bool:
        """Whether the process of the trait ended on its last turn, or was killed because the trait did not return."""
        return bool(self.votes) and self.votes[-1][0].status in ("late", "killed")

    @property
    def depth(self) -> float | None:
        """The median depth of a search; None for a trait that reports no depth."""
        depths = [vote.info.depth for vote, _ in self.votes if vote.info is not None and vote.info.depth is not None]
        return float(np.median(depths)) if depths else None

    @property
    def speed(self) -> float | None:
        """Thousands of nodes per second; None for a trait that reports no nodes."""
        counts = [(vote.info.nodes, vote.ms) for vote, _ in self.votes if vote.info is not None and vote.info.nodes]
        total_ms = sum(ms for _, ms in counts)
        return sum(nodes for nodes, _ in counts) / total_ms if total_ms else None


@dataclass(frozen=True)
class RecordedPosition(TrialPosition):
    """A turn of a recording."""

    path: Path = Path()
    turn: int = 0


def recorded_positions(paths: Sequence[Path]) -> list[TrialPosition]:
    """Return all turns of the recordings. Raises `RecordingError`."""
    turns: list[TrialPosition] = []
    for path in paths:
        recording = read_recording(path)
        for own in recording.turns:
            position = TrialPosition.of(view(recording, own.turn))
            name = f"{position.name} of {short(path)}"
            turns.append(RecordedPosition(**vars(position) | {"name": name}, path=path, turn=own.turn))
    return turns


def self_play(games: Game, seed: int) -> Iterator[View]:
    """Play a game of `PLAYERS` from the state in `games`, which changes. Before each ply, yield the view of the hero to move."""
    bots = [load_bot(name).build() for name in PLAYERS]
    warm_quietly()
    recent = [np.zeros(0, GAME)] * len(bots)
    while games[0]["status"] == RUNNING:
        me = mover(games)
        position = View(games, me, recent=recent[me], seed=seed)
        yield position
        votes = [(spec.weight, as_votes(trait.vote(position))) for spec, trait in bots[me]]
        entries = [BallotEntry("", weight, None if vote is None else vote.tolist()) for weight, vote in votes]
        recent[me] = np.concatenate((recent[me], games))[-RECENT_TURNS:]
        step(games, 0, tally(entries, position.moves, position.rng("tie")).direction)


def generated_positions(seed: int = 1) -> Iterator[TrialPosition]:
    """Play one new game on each of `BOARDS` and yield the turns of all four heroes. Equal seeds give equal turns."""
    for number, (size, walls, mines) in enumerate(BOARDS, 1):
        games = generate(seed + number, size=size, walls=walls, mines=mines).new_game()
        for position in self_play(games, seed):
            yield replace(TrialPosition.of(position), name=f"turn {position.turn} of new game {number}", games=games.copy())


def spread(positions: Sequence[TrialPosition], most: int) -> list[TrialPosition]:
    """Return at most `most` of the positions, drawn at random. The seed is fixed, so equal arguments give equal results."""
    if len(positions) <= most:
        return list(positions)
    chosen = np.random.default_rng(len(positions)).choice(len(positions), most, replace=False)
    return [positions[index] for index in sorted(chosen.tolist())]


def measure(
    asker: Asker, labels: Sequence[str], positions: Sequence[TrialPosition], nodes: int | None, progress: Progress
) -> tuple[list[Times], bool]:
    """Return the times of the traits of `asker`, and whether Ctrl-C ended the measurement early. `labels` name the traits.

    Each trait gets a new view. So its time includes work that the traits of a bot share in a game. A trait that was killed at the
    time limit, or has ended its process, is not called again.
    """
    times = [Times(label) for label in labels]
    seconds, limit = (SECONDS, LIMIT) if nodes is None else (None, LIMIT_WITH_NODES)
    task = progress.add_task("measuring", total=len(positions))
    cold = {*range(len(times))}  # traits that have not run in the present process: their first call loads modules

    def ask(number: int, position: TrialPosition) -> None:
        (vote,) = asker.votes(position.view(nodes), [number], seconds=seconds, limit=limit)
        times[number].votes.append((vote, position))
        if times[number].ended:
            cold.update(range(len(times)))

    try:
        for position in positions:
            for number, trait in enumerate(times):
                if number in cold and not trait.ended:
                    ask(number, position)
                    if not trait.ended:  # the first call does not count
                        trait.votes.pop()
                        cold.discard(number)
                if not trait.ended:
                    ask(number, position)
            progress.advance(task)
    except KeyboardInterrupt:
        return times, True
    return times, False


def table_of(times: Sequence[Times]) -> Table:
    """Return a table of the milliseconds of each trait.

    If a trait searches, the table has columns for depth and speed. If a trait fails, it has a column for failures.
    """
    searches = any(trait.depth is not None or trait.speed is not None for trait in times)
    failures = any(trait.failed for trait in times)
    more = [*(["depth", "knodes/s"] * searches), *(["failed"] * failures)]
    table = trait_table("turns", "median ms", "p99 ms", "worst ms", *more)
    for trait in times:
        if not trait.votes:
            continue
        vote, _ = trait.worst
        cells = [str(len(trait.votes)), *(f"{ms:.3f}" for ms in (trait.percentile(50), trait.percentile(99), vote.ms))]
        if searches:
            cells += ["" if trait.depth is None else f"{trait.depth:g}", "" if trait.speed is None else f"{trait.speed:.0f}"]
        cells += [str(trait.failed)] * failures
        table.add_row(Text(printable(trait.label)), *cells)
    return table


def _failures(trait: Times, bot: Bot) -> list[str]:
    """Return lines about at most three kinds of failures of a trait.

    For a recorded turn, a line has the command that shows the failure.
    """
    first: dict[str, TrialPosition] = {}
    for vote, position in trait.votes:
        if vote.note:
            first.setdefault(vote.note, position)
    lines = []
    for note, position in sorted(first.items(), key=lambda item: item[0])[:3]:
        lines.append(f"{trait.label}: {note}, {position.name}{'; it was not asked again' if trait.ended else ''}")
        if isinstance(position, RecordedPosition):
            command = debug_command(position.path, position.turn, trait.label, short(bot.path))
            lines.append(f"to see {trait.label} fail: {command}")
    return lines


def time_traits(
    console: Console, bot: Bot, recordings: Sequence[Path], *, nodes: int | None, most: int = TURNS, only: Sequence[str] = ()
) -> int:
    """Measure a bot's traits, print the table and return the exit code (130 after Ctrl-C). Raises `VindibotError`."""
    traits = traits_of(bot, only)
    warm(console)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        if recordings:
            positions = recorded_positions(recordings)
        else:
            task = progress.add_task("playing games for positions", total=len(BOARDS) * 1200)
            positions = []
            for position in generated_positions():
                positions.append(position)
                progress.advance(task)
            progress.remove_task(task)
        with Asker(bot, traits) as asker:
            times, interrupted = measure(asker, [spec.label for spec, _ in traits], spread(positions, most), nodes, progress)
    if not positions:
        console.print("these recordings have no turns", style="yellow")
        return 1
    budget = counted(nodes, "node") if nodes is not None else f"{SECONDS:g} s"
    say(console, f"{printable(bot.name)}: each trait alone, with a budget of {budget}")
    console.print(table_of(times))
    for trait in times:
        if trait.votes:
            vote, position = trait.worst
            say(console, printable(f"{trait.label}: worst turn {vote.ms:.3f} ms, {position.name}"))
        for line in _failures(trait, bot):
            say(console, printable(line), "red")
    if interrupted:
        console.print("interrupted: the table shows the turns measured so far", style="yellow")
    return interrupts.INTERRUPTED if interrupted else 0
