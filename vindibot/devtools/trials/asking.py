"""Functions that call traits in this process, outside of a game."""

from __future__ import annotations

import faulthandler
import math
import pdb  # noqa: T100  # what `vindibot turn --pdb` starts
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from inspect import isgenerator
from pathlib import Path
from types import FrameType
from typing import Any

from pydantic import ValidationError

from behaviours.base import Behaviour, View
from behaviours.registry import BehaviourError, find as find_behaviour
from sim.game import DIRECTIONS
from sim.kernels import warm as warm_quietly
from vindibot.base.errors import UsageError
from vindibot.config.bots import Bot, load_bot, make_importable
from vindibot.config.trait_spec import TraitSpec
from vindibot.devtools.trials.response import stopping
from vindibot.engine import failures, runner
from vindibot.engine.failures import OutOfTime, own_traceback
from vindibot.engine.runner import Vote, failure, parse_answer, run
from vindibot.games.ballot import Ballot, BallotEntry, tally
from vindibot.games.files.recording import Recording

#: Default number of seconds for an anytime trait: about the time of a turn.
SECONDS = 0.9
#: Seconds after which a trait without an answer is ended by default: without a budget of nodes, and with one.
LIMIT, LIMIT_WITH_NODES = 10.0, 60.0
#: Seconds between interruptions of a trait that catches `OutOfTime`.
INTERVAL = 0.2
#: Seconds from the limit until the process ends itself, if the trait is in compiled code, which nothing interrupts.
LAST_RESORT = 4.0
#: Files whose code is on the stack while a debugger is open.
_DEBUGGERS = ("bdb.py", "pydevd.py")

Traits = Sequence[tuple[TraitSpec, Behaviour]]


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


def ask(behaviours: Iterable[Behaviour], view: View, seconds: float | None) -> list[Vote]:
    """Ask each trait about a view, in this process, and return the last vote of each; see `vindibot.engine.runner.run`.

    After `seconds` (None: never) the stop word of the view's budget is set, so anytime traits return. Nothing ends a trait that
    hangs. Ctrl-C raises `KeyboardInterrupt`, even if a trait catches this exception.
    """
    votes: dict[int, Vote] = {}
    with _interrupts() as interrupted, stopping(view, seconds):
        run(list(enumerate(behaviours)), view, lambda vote: votes.__setitem__(vote.trait, vote))
        if interrupted():
            raise KeyboardInterrupt
    return [votes[number] for number in sorted(votes)]


def best_moves(bot: Bot | str | Path, view: View) -> set[str]:
    """Return the moves that a bot may choose: the candidates with the largest sum of votes, by their names in the protocol.

    Several moves may tie. `bot` is a bot, its file, or its name. The traits have the budget of the view. Raises `UsageError` for
    a bot that cannot be loaded.
    """
    loaded = bot if isinstance(bot, Bot) else load_bot(str(bot))
    traits = loaded.build()
    warm_quietly()
    votes = ask([behaviour for _, behaviour in traits], view, SECONDS if view.budget.nodes is None else None)
    return moves_of(ballot_of(loaded, votes, view))


def moves_of(ballot: Ballot) -> set[str]:
    """Return the moves that a bot may choose by this ballot: the candidates with the largest sum of votes."""
    most = max(ballot.sums[move] for move in ballot.candidates)
    return {DIRECTIONS[move] for move in ballot.candidates if ballot.sums[move] == most}


def ballot_of(bot: Bot, votes: Sequence[Vote], view: View) -> Ballot:
    """Return the ballot of a bot whose traits vote like this."""
    answers = [None if vote.votes is None else list(vote.votes) for vote in votes]
    entries = [BallotEntry(spec.label, spec.weight, answer) for spec, answer in zip(bot.traits, answers, strict=True)]
    return tally(entries, view.moves, lambda: view.rng("tie"))


@contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed within the ``with`` block.

    `KeyboardInterrupt` alone does not show this, because the runner treats each exception as an error of a trait.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    signals: list[int] = []
    before = signal.getsignal(signal.SIGINT)

    def interrupt(number: int, _frame: object) -> None:
        signals.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield lambda: bool(signals)
    finally:
        signal.signal(signal.SIGINT, before)


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
        if innermost is not None and innermost.f_code.co_filename not in (runner.__file__, failures.__file__, __file__):
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
    with _interrupts() as interrupted:
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
