"""Traits asked in this very process, outside of any game: on a recorded turn, or on many turns with a clock beside them."""

from __future__ import annotations

import math
import pdb  # noqa: T100  # what `vindibot turn --pdb` starts
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from inspect import isgenerator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from behaviours.base import Behaviour, View
from behaviours.registry import BehaviourError, find as find_behaviour
from vindibot.base import UsageError
from vindibot.config import Bot, TraitSpec, load_bot, make_importable
from vindibot.devtools.watchdog import Watchdog
from vindibot.engine import Vote, failure, own_traceback, parse_answer, run
from vindibot.games import Recording

#: Seconds for an anytime trait where nobody says otherwise: about what a turn has.
SECONDS = 0.9
#: Seconds after which a trait that has not answered is ended where nobody says otherwise; with a budget of nodes.
LIMIT, LIMIT_WITH_NODES = 10.0, 60.0

Traits = Sequence[tuple[TraitSpec, Behaviour]]


def recorded_bot(recording: Recording) -> Bot:
    """The bot that made a recording, as its header tells. Traits of one's own are looked for in the current folder, in
    ``bots/`` and beside the recording. Raises `UsageError` that says how to go on."""
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
        raise UsageError(f"{recording.path}: the header tells no traits; name the bot's file with --bot")
    return Bot(header.bot, str(recording.path), folders, tuple(specs))


def traits_of(bot: Bot, only: Sequence[str] = ()) -> Traits:
    """A bot's traits, built; with `only` those with these labels. Raises `UsageError` for a label that it has not."""
    labels = [spec.label for spec in bot.traits]
    for label in only:
        if label not in labels:
            raise UsageError(f"the bot {bot.name} has no trait {label!r:.60}; it has {', '.join(labels)}")
    return [(spec, behaviour) for spec, behaviour in bot.build() if not only or spec.label in only]


def bot_of(name: str | None, recording: Recording) -> Bot:
    """The bot called `name`, or the recording's own."""
    return recorded_bot(recording) if name is None else load_bot(name)


@contextmanager
def stopping(view: View, seconds: float | None) -> Iterator[None]:
    """Set the stop word of a view's budget after some seconds (None: never), and at the end in any case."""
    timer = threading.Timer(seconds or 0.0, view.budget.stop.__setitem__, (0, 1))
    timer.daemon = True
    if seconds is not None:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def ask(behaviours: Iterable[Behaviour], view: View, seconds: float | None, limit: float | None = None) -> list[Vote]:
    """The last word of each trait on a view; see `vindibot.engine.runner.run`. Ctrl-C gets through, whatever the traits catch.

    After `seconds` anytime traits are told to stop. A trait that is still at work after `limit` seconds is ended, and "late".
    """
    votes: dict[int, Vote] = {}
    with _interrupts() as interrupted, stopping(view, seconds), Watchdog(limit) as watchdog:
        run(list(enumerate(behaviours)), view, lambda vote: votes.__setitem__(vote.trait, vote), watchdog.watch)
        if interrupted():
            raise KeyboardInterrupt
    return [votes[number] for number in sorted(votes)]


@contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed within the block: the runner takes whatever is raised for a trait's own."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    seen: list[int] = []
    before = signal.getsignal(signal.SIGINT)

    def interrupt(number: int, _frame: object) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield lambda: bool(seen)
    finally:
        signal.signal(signal.SIGINT, before)


def debug(number: int, behaviour: Behaviour, fresh: Callable[[], View], limit: float | None = None) -> Vote | None:
    """A trait's votes under Python's debugger. It stops in the line of the trait's own code that raises, or is still at work
    after `limit` seconds; if no line does, it stops where `vote` begins. None if the user leaves there.

    `fresh` makes a view: the trait is run once to see whether it raises. The time is not known: it would be that of the user.
    """
    with _interrupts() as interrupted:
        try:
            with Watchdog(limit) as watchdog:
                watchdog.watch(number)
                votes, info = parse_answer(_last_words(behaviour, fresh())[-1])
        except BaseException as problem:
            if interrupted():
                raise KeyboardInterrupt from None
            if (trace := own_traceback(problem, behaviour)) is not None:
                pdb.post_mortem(trace)
                return failure(number, behaviour, problem, math.nan)
    debugger = pdb.Pdb(skip=[__name__])
    try:
        answers: list[Any] | None = debugger.runcall(_last_words, behaviour, fresh())
        if answers is None:
            return None
        votes, info = parse_answer(answers[-1])
    except Exception as problem:
        return failure(number, behaviour, problem, math.nan)
    return Vote(number, votes, math.nan, True, info=info)


def _last_words(behaviour: Behaviour, view: View) -> list[Any]:
    """All answers of a trait, at least one."""
    answer = behaviour.vote(view)
    return [None, *answer] if isgenerator(answer) else [answer]
