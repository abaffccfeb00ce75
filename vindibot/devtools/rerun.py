"""``vindibot turn``: run a recorded turn again, and compare the new votes with the recorded votes."""

from __future__ import annotations

import faulthandler
import math
import pdb  # noqa: T100  # what `vindibot turn --pdb` starts
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import isgenerator
from pathlib import Path
from types import FrameType
from typing import Any

from pydantic import ValidationError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from behaviours.base import Behaviour, View
from behaviours.registry import BehaviourError, find as find_behaviour
from sim.game import DIRECTIONS
from vindibot.base.console import say
from vindibot.base.errors import UsageError
from vindibot.base.text import printable
from vindibot.config.bots import Bot, load_bot, make_importable, named_modules
from vindibot.config.files import short
from vindibot.config.traits import TraitSpec
from vindibot.devtools.explanation import (
    heading,
    how_to_see,
    remarks,
    state_line,
    time_of,
    trait_table,
    verdict,
    vote_cells,
    votes_table,
)
from vindibot.devtools.watching import run_at_each_change
from vindibot.engine import runner
from vindibot.engine.asking import LIMIT_WITH_NODES, SECONDS, Asker, Traits, interrupts
from vindibot.engine.health import TraitHealth, ballot_entry
from vindibot.engine.runner import OutOfTime, Vote, failure, own_traceback, parse_answer
from vindibot.engine.warmup import warm
from vindibot.games.ballot import Ballot, BallotEntry, tally
from vindibot.games.files.game_files import kind_of, read_game_file
from vindibot.games.files.recorded_turn import NODES, Continuation, choose_turn, view
from vindibot.games.files.recording import RecordedTurn, Recording

#: Default time limit of a trait, as a multiple of the game's time limit for a turn.
LIMIT_FACTOR = 10
#: The time limit of a game whose limit is unknown, in milliseconds.
USUAL_LIMIT_MS = 1000.0
#: Seconds between interruptions of a trait that catches `OutOfTime`.
INTERVAL = 0.2
#: Seconds from the limit until the process ends itself, if the trait is in compiled code, which nothing interrupts.
LAST_RESORT = 4.0
#: Files whose code is on the stack while a debugger is open.
_DEBUGGERS = ("bdb.py", "pydevd.py")


def recorded_bot(recording: Recording) -> Bot:
    """Return the bot that made a recording. Its traits and their parameters come from the header of the recording.

    The user's own traits are looked up in the current folder, in ``bots/`` and beside the recording. Raises `UsageError` if a
    trait cannot be built.
    """
    folders = tuple(str(folder.resolve()) for folder in (Path(), Path("bots"), recording.path.parent) if folder.is_dir())
    make_importable(folders)
    header = recording.header
    specs = []
    for trait in header.traits:
        try:
            kind = find_behaviour(trait.use)
            spec = TraitSpec(
                trait.label, trait.use, trait.weight, f"{kind.__module__}:{kind.__qualname__}", dict(trait.parameters)
            )
            spec.build()
        except (BehaviourError, ValidationError) as problem:
            reason = problem.errors()[0]["msg"] if isinstance(problem, ValidationError) else str(problem)
            raise UsageError(
                f"{recording.path}: the trait {trait.label!r:.60} of the bot {header.bot!r:.60} cannot be built here: {reason};"
                " name the bot's file with --bot"
            ) from None
        specs.append(spec)
    if not specs:
        raise UsageError(f"{recording.path}: the header names no traits; name the bot's file with --bot")
    return Bot(header.bot, str(recording.path), folders, tuple(specs))


def traits_of(bot: Bot, only: Sequence[str] = ()) -> Traits:
    """Return a bot's traits, newly built. With `only`, return only the traits with these labels.

    Raises `UsageError` for an unknown label.
    """
    labels = [spec.label for spec in bot.traits]
    for label in only:
        if label not in labels:
            raise UsageError(f"the bot {bot.name} has no trait {label!r:.60}; it has {', '.join(labels)}")
    return [(spec, behaviour) for spec, behaviour in bot.build() if not only or spec.label in only]


def find_bot(name: str | None, recording: Recording) -> Bot:
    """Return the bot called `name`. If `name` is None, return the bot that made the recording."""
    return recorded_bot(recording) if name is None else load_bot(name)


def run_turn(
    console: Console,
    path: Path,
    *,
    turn: int | None,
    game: str | None,
    bot: str | None,
    traits: Sequence[str],
    nodes: int | None,
    limit_ms: float | None,
    debugger: bool,
    watch: bool,
    **choice: int | None,
) -> None:
    """Ask the traits of a bot about a turn of a game in a file, and print their votes, beside those of a recording.

    `bot` is None for the bot of a recording. In a recording, `turn` and `choice` choose the turn as in `choose_turn`. In another
    file, `turn` and `game` choose it as in `Continuation.read`, and the limit of the game counts as 1,000 ms. `traits` are the
    labels of the traits to ask, empty for all. Without `nodes`, they have the time of a turn. A trait that still runs after
    `limit_ms` is ended (default: 10 times the limit of the game, or 60,000 ms with `nodes`). With `debugger`, the traits run in
    this process. If the user quits the debugger, nothing is printed. With `watch`, do all of this again whenever a file of the
    bot changes, until Ctrl-C. Raises `UsageError` for options that exclude each other, and `VindibotError`.
    """
    recording = read_game_file(path, game) if kind_of(path) == "recording" else None
    if isinstance(recording, Recording):
        turn = choose_turn(recording, turn=turn, **choice).turn
    elif bot is None:
        raise UsageError(f"{short(path)} has no votes: name the bot to ask with --bot")
    if watch and debugger:
        raise UsageError("--watch does not start a debugger: give only one of --watch and --pdb")
    if watch:
        more = {"--turn": turn, "--game": game, "--bot": bot, "--nodes": nodes, "--limit-ms": limit_ms}
        words = [str(part) for option, value in more.items() if value is not None for part in (option, value)]
        words += [part for label in traits for part in ("--trait", label)]
        usual = [folder for folder in (Path(), Path("bots"), path.parent) if folder.is_dir()]
        folders = usual if bot is None else [Path(folder) for folder in named_modules(bot)[0]]
        run_at_each_change(console, ["turn", str(path), *words], folders)
        return
    options: dict[str, Any] = {"only": traits, "nodes": nodes, "limit_ms": limit_ms, "debugger": debugger}
    if isinstance(recording, Recording) and turn is not None:
        _rerun(console, recording, recording.turn(turn), find_bot(bot, recording), options)
    elif bot is not None:
        _ask(console, Continuation.read(path, turn, game=game, to_move=True), load_bot(bot), options)


def _rerun(console: Console, recording: Recording, own: RecordedTurn, bot: Bot, options: dict[str, Any]) -> None:
    """Ask a bot's traits about a recorded turn, and print the old and the new votes. `options` are those of `_ballot`."""
    limit_ms = recording.header.limit_ms or USUAL_LIMIT_MS
    ballot = _ballot(console, bot, lambda nodes: view(recording, own.turn, nodes=nodes), limit_ms, **options)
    if ballot is None:
        return
    whole = not options["only"]
    for line in heading(recording, own):
        say(console, line)
    console.print()
    console.print(comparison(ballot, own.ballot, sums=whole))
    lines = [f"now: {verdict(ballot)[0]}"] * whole + [f"then: {verdict(own.ballot)[0]}", *remarks(ballot)]
    if not options["debugger"]:
        lines += how_to_see(ballot, recording, own.turn, "" if bot.path == str(recording.path) else short(bot.path))
    for line in lines:
        say(console, line)


def _ask(console: Console, turn: Continuation, bot: Bot, options: dict[str, Any]) -> None:
    """Ask a bot's traits about a turn of a game without votes, and print the votes. `options` are those of `_ballot`."""
    ballot = _ballot(console, bot, lambda nodes: turn.view(nodes=nodes), USUAL_LIMIT_MS, **options)
    if ballot is None:
        return
    history, games = turn.history, turn.opening.last()
    name = f"bot {printable(bot.name)}, hero @{turn.hero + 1} {printable(history.names[turn.hero])}"
    for line in (f"game {printable(history.id)}, {name}", state_line(turn.turn, games, turn.hero)):
        say(console, line)
    console.print()
    console.print(votes_table(ballot))
    for line in [*verdict(ballot) * (not options["only"]), *remarks(ballot)]:
        say(console, line)


def _ballot(
    console: Console,
    bot: Bot,
    view_with: Callable[[int | None], View],
    game_limit_ms: float,
    *,
    only: Sequence[str],
    nodes: int | None,
    limit_ms: float | None,
    debugger: bool,
) -> Ballot | None:
    """Return the ballot of a bot's traits for the view that `view_with` returns for a budget of nodes; see `run_turn`.

    Return None if the user quits the debugger. Raises `UsageError` for an unknown label of a trait.
    """
    traits = traits_of(bot, only)
    warm(console)
    usual_ms = LIMIT_FACTOR * game_limit_ms if nodes is None else 1000 * LIMIT_WITH_NODES
    limit = (usual_ms if limit_ms is None else limit_ms) / 1000
    new_view = partial(view_with, NODES if debugger and nodes is None else nodes)
    position = new_view()
    if debugger:
        votes = []
        for number, (_, behaviour) in enumerate(traits):
            vote = debug(number, behaviour, new_view, limit)
            if vote is None:
                return None
            votes.append(vote)
    else:
        seconds = SECONDS if nodes is None else None
        with Asker(bot, traits) as asker:
            numbers = range(len(traits))
            votes = [vote for number in numbers for vote in asker.votes(position, [number], seconds=seconds, limit=limit)]
    health_records = [TraitHealth.of(spec.label, spec.weight, behaviour) for spec, behaviour in traits]
    entries = [ballot_entry(health, vote) for health, vote in zip(health_records, votes, strict=True)]
    return tally(entries, position.moves, lambda: position.rng("tie"), margin_ms=math.inf)


def comparison(now: Ballot, then: Ballot, *, sums: bool = True) -> Table:
    """Return a table of the weighted votes in two ballots of the same turn: the new one (`now`) and the recorded one (`then`).

    A trait with unchanged votes has a single row, "same". With `sums`, the table also has the sums, and the traits that are only
    in `then`.
    """
    table = trait_table("", *DIRECTIONS, "ms")
    table.columns[1].justify = "left"
    recorded = {entry.label: entry for entry in then.entries}
    for current in now.entries:
        before = recorded.pop(current.label, None)
        if before is not None and _same_votes(current, before):
            _row(table, current.label, "same", now, current)
            continue
        _row(table, current.label, "now", now, current)
        if before is not None:
            _row(table, "", "then", then, before, "dim")
    if sums:
        for dropped in recorded.values():
            _row(table, dropped.label, "then only", then, dropped, "dim")
        _row(table, "sum", "now", now, BallotEntry("", 1.0, now.sums, math.nan), "bold")
        _row(table, "", "then", then, BallotEntry("", 1.0, then.sums, math.nan), "dim")
    return table


def _row(table: Table, label: str, when: str, ballot: Ballot, votes: BallotEntry, style: str = "") -> None:
    cells = (cell.plain for cell in vote_cells(ballot, votes))
    table.add_row(*(Text(cell, style) for cell in (printable(label), when, *cells, time_of(votes))))


def _same_votes(entry: BallotEntry, other: BallotEntry) -> bool:
    """Return whether the weighted votes of two entries differ by no more than rounding errors."""
    if entry.votes is None or other.votes is None:
        return entry.votes is other.votes and entry.status == other.status
    pairs = zip(entry.weighted, other.weighted, strict=True)
    return all(math.isclose(now, then, rel_tol=1e-9, abs_tol=1e-12) for now, then in pairs)


# ---- Under the debugger ----


@contextmanager
def _time_limit(limit: float | None) -> Iterator[None]:
    """Raise `OutOfTime` in the code of the ``with`` block if it runs for more than `limit` seconds (None: never).

    The timer stops when a debugger opens. Compiled code cannot be interrupted. If it does not return, the process prints its
    stack, which shows the line of the trait, and ends with exit code 1. Outside the main thread, and on Windows, there is no
    limit.
    """
    if limit is None or sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return

    def end() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()

    def interrupt(_number: int, frame: FrameType | None) -> None:
        innermost = frame
        while frame is not None:
            if frame.f_code.co_filename.endswith(_DEBUGGERS):
                end()
                return
            frame = frame.f_back
        if innermost is not None and innermost.f_code.co_filename not in (runner.__file__, __file__):
            raise OutOfTime(f"no answer after {limit:g} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, limit, INTERVAL)
    faulthandler.dump_traceback_later(limit + LAST_RESORT, exit=True, file=2)
    try:
        yield
    finally:
        end()
        signal.signal(signal.SIGALRM, before)


def debug(number: int, behaviour: Behaviour, new_view: Callable[[], View], limit: float | None = None) -> Vote | None:
    """Run a trait under Python's debugger and return its vote; None if the user quits the debugger.

    First the trait runs without the debugger. If this run raises an error, or still runs after `limit` seconds, the debugger
    opens at the current line of the trait's own code. Otherwise the trait runs a second time, and the debugger stops at the start
    of `vote`. `new_view` makes a view for each run. `number` is the number of the trait in the returned vote. The time of this
    vote is NaN.
    """
    with interrupts() as interrupted:
        try:
            with _time_limit(limit):
                votes, info = parse_answer(_answers(behaviour, new_view())[-1])
        except BaseException as problem:
            if interrupted():
                raise KeyboardInterrupt from None
            if (trace := own_traceback(problem, behaviour)) is not None:
                pdb.post_mortem(trace)
                return failure(number, behaviour, problem, math.nan)
    debugger = pdb.Pdb(skip=[__name__])
    view = new_view()
    try:
        answers: list[Any] | None = debugger.runcall(_answers, behaviour, view)
        if answers is None:
            return None
        votes, info = parse_answer(answers[-1])
    except Exception as problem:
        return failure(number, behaviour, problem, math.nan)
    return Vote(number, votes, math.nan, True, info=info, notes=view.notes.taken())


def _answers(behaviour: Behaviour, view: View) -> list[Any]:
    """Return all answers of a trait, in their order of time. There is at least one."""
    answer = behaviour.vote(view)
    return [None, *answer] if isgenerator(answer) else [answer]
