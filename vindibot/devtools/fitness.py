"""The check of a whole bot before a tournament: the games of a program, or the standard checks of each trait of a bot file."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rich.console import Console

from vindibot.arena.checks.program import CheckResult, check_program
from vindibot.arena.seats.entrants import read_entrants
from vindibot.arena.settings import ArenaSettings
from vindibot.base.output.console import say
from vindibot.base.output.text import counted, printable, printable_lines
from vindibot.config.bots import Bot
from vindibot.config.load import Config
from vindibot.devtools.conformance import ConformanceError, check_trait
from vindibot.engine.warmup import warm

#: What the terminal says about a result, and its style.
_OK, _WARNS, _FAILS = ("ok", "green"), ("warns", "yellow"), ("FAILS", "bold red")


def check_bot(console: Console, config: Config[ArenaSettings], rounds: int) -> int:
    """Check the first bot of a tournament, print the results, and return the exit code: 0 if no check fails, else 1.

    `rounds` is the number of moves of a program in each game. Raises `UsageError` if there is no such bot.
    """
    entrant = read_entrants(config)[0]
    label = printable(entrant.label)
    if entrant.bot is None and not entrant.command:
        say(console, f"{label} is built in: there is nothing to check")
        return 0
    warm(console)
    if entrant.bot is None:
        words = printable(shlex.join(entrant.command))
        say(console, f"checking {label} ({entrant.kind}: {words}), {entrant.limits.move_ms} ms per move")
        results = check_program(entrant, rounds)
    else:
        say(console, f"checking the traits of {label}")
        results = _trait_results(entrant.bot)
    count = failed = warned = 0
    for result in results:
        _show(console, result)
        count += 1
        failed += bool(result.wrong) and result.fails
        warned += bool(result.wrong) and not result.fails
    verdict = f"{label} fails {failed} of {counted(count, 'check')}" if failed else f"{label} passes {counted(count, 'check')}"
    say(console, verdict + (f", with {counted(warned, 'warning')}" if warned else ""), "bold red" if failed else "bold green")
    return 1 if failed else 0


def _trait_results(bot: Bot) -> Iterator[CheckResult]:
    """Yield whether each trait of a bot keeps the promises of the conformance suite."""
    for spec, trait in bot.build():
        promise = f"{spec.class_path} keeps all promises"
        try:
            check_trait(trait)
        except ConformanceError as problem:
            yield CheckResult(spec.label, promise, f"{problem.check}: {problem.wrong}", problem.advice, True)
        else:
            yield CheckResult(spec.label, promise)


def _show(console: Console, result: CheckResult) -> None:
    word, style = _OK if not result.wrong else _FAILS if result.fails else _WARNS
    console.print(f"  [{style}]{word:6}[/] ", end="")
    say(console, printable(f"{result.check:8} {result.promise}"))
    if not result.wrong:
        return
    say(console, _indented(result.wrong))
    for head, lines in (("it read (<) and wrote (>):", result.lines), ("its last lines of output:", result.output)):
        if lines:
            say(console, _indented("\n".join([head, *(f"  {line}" for line in lines)])))
    say(console, _indented(f"what to do: {result.advice}"))


def _indented(text: str) -> str:
    return "\n".join(f"         {line}" for line in printable_lines(text).splitlines())
