"""``vindibot check``: whether a bot is fit for a tournament.

A program plays short games on the seats of the arena, against bots that move at random. Of a bot file, each trait gets the
standard checks.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from rich.console import Console

from sim.board import board_of, draw
from sim.game import HERO_SHIFT, LAST_MINE, MINE, SEATS, STAY, TILE_BITS, Game
from sim.generator import generate
from sim.maps import map_of
from sim.rules import step
from vindibot.arena.games import play_seats
from vindibot.arena.referee import SeatRun
from vindibot.arena.schedule import GameTask, SeatTask, wall_seconds
from vindibot.arena.seats.entrants import Entrant, Limits, read_entrants
from vindibot.arena.settings import ArenaSettings
from vindibot.base.console import say
from vindibot.base.system import require_children
from vindibot.base.text import counted, printable, printable_lines
from vindibot.config.bots import Bot
from vindibot.config.load import Config
from vindibot.devtools.conformance import ConformanceError, check_trait
from vindibot.engine.warmup import warm
from vindibot.games.outcome import Outcome, Reason
from vindibot.games.position import Position

#: Number of moves of a program in each game before a tournament (`arena --check`).
ROUNDS = 3
#: Seed of all maps and of all moves of the rivals.
SEED = 20
#: The names of the rivals, and names that break programs which search an answer for words or cut names off.
NAMES = ("first", "second", "third", "fourth")
HARD_NAMES = ('{"finished":true}', "a bot with a name of forty characters...", "Ünïcode ☃ 名前 \\ %s", "0")

_ADVICE = {
    ("stall", "stdio"): "after each state, write one line with the move and flush the output; many languages keep lines in a"
    " buffer (in Python: print(..., flush=True)). Read the size, the board and the id of the hero, then the entities",
    ("stall", "http"): "take the address from {server} or VINDINIUM_SERVER, and the key from {key} or VINDINIUM_KEY; then POST"
    " key=... to /api/arena, and wait for the answer",
    ("timeout", "stdio"): "answer within the time limit of a move (--move-ms), and flush the output",
    ("timeout", "http"): "answer within the time limit of a move (--move-ms)",
    ("illegal", "stdio"): "write WAIT, NORTH, EAST, SOUTH, WEST or MOVE x y, and nothing before it",
    ("flood", "stdio"): "write one line per turn; write what helps you to find errors to the standard error",
}
_WORDS = {"stdio": "WAIT, NORTH, EAST, SOUTH, WEST or MOVE x y", "http": "dir=Stay, North, South, East or West"}
_STYLES = {"ok": "green", "warns": "yellow", "FAILS": "bold red"}


@dataclass(frozen=True, eq=False)
class Case:
    """A short game in which a program is checked: the game in words, its first state, the program's hero (0..3), the rivals."""

    what: str
    first: Game
    me: int = 0
    names: tuple[str, ...] = NAMES


@dataclass(frozen=True)
class CheckResult:
    """The result of one check: its name, what a bot must do, what is wrong (empty: nothing), and what to do.

    `fails` says whether the bot would forfeit games. Otherwise, what is wrong is only a warning.
    """

    check: str
    promise: str
    wrong: str = ""
    advice: str = ""
    fails: bool = False

    @property
    def verdict(self) -> str:
        """One of the words "ok", "warns" and "FAILS"."""
        return "FAILS" if self.wrong and self.fails else "warns" if self.wrong else "ok"


def _case(size: int, rounds: int, me: int = 0) -> Case:
    return Case(f"a game on a {size} x {size} map, as hero {me + 1}", generate(SEED, size).new_game(SEATS * rounds), me)


def _middle(rounds: int) -> Iterator[Case]:
    """Yield games that go on after 150 rounds of random moves."""
    for me in (0, 2):
        games = _case(12, 1000).first
        for move in np.random.default_rng(SEED).integers(0, 5, 600 + me).tolist():
            step(games, 0, move)
        turn = int(games["turn"].item(0))
        games["max_turns"] = turn + SEATS * rounds
        yield Case(f"a game that begins on turn {600 + me}, as hero {me + 1}", games, me)
        board, owned = board_of(games), games.copy()
        mines = ((board & TILE_BITS) >= MINE) & ((board & TILE_BITS) <= LAST_MINE)
        board_of(owned)[mines] = (board[mines] >> HERO_SHIFT << HERO_SHIFT) | (MINE + 1 + me)
        owned["hero"]["mines"] = [int(mines.sum()) * (hero == me) for hero in range(SEATS)]
        yield Case(f"a game in which all mines belong to hero {me + 1}, the program's hero", owned, me)
        last = games.copy()
        last["max_turns"] = turn + SEATS
        yield Case(f"the last round of a game, as hero {me + 1}", last, me)


#: The checks of a program: name, what the program must do, its games for a number of rounds, and advice.
CHECKS: tuple[tuple[str, str, Callable[[int], Sequence[Case] | Iterator[Case]], str], ...] = (
    ("start", "it starts and plays a short game", lambda rounds: [_case(10, rounds)], ""),
    (
        "seats",
        "it plays as hero 2, 3 and 4",
        lambda rounds: [_case(10, rounds, me) for me in (1, 2, 3)],
        "its hero may be any of the four, and another one moves first",
    ),
    (
        "sizes",
        "it plays on maps of all sizes",
        lambda rounds: [_case(size, rounds) for size in (8, *range(12, 29, 2))],
        "a map has 8 to 28 rows: take its size from the game",
    ),
    (
        "middle",
        "it plays a game that begins in the middle",
        _middle,
        "its hero may stand anywhere, and every mine may have any owner, its own hero too",
    ),
    (
        "names",
        "it plays against rivals with any names",
        lambda rounds: [replace(_case(10, rounds, 3), what="a game against rivals with hard names", names=HARD_NAMES)],
        "read the answer with a library for JSON: a name may have 40 characters, and every visible one",
    ),
)


def check_program(entrant: Entrant, rounds: int = ROUNDS) -> Iterator[CheckResult]:
    """Play the games of all checks with a program, and yield the result of each check when it is known.

    `rounds` is the number of moves of the program in each game. If the program does not play the first game, the other checks are
    left out.
    """
    require_children()
    times, moved = list[float](), False
    for name, promise, cases, advice in CHECKS:
        result = CheckResult(name, promise)
        for case in cases(rounds):
            own, moves = play_case(entrant, case)
            times += own.times[1:]
            moved = moved or any(move != STAY for move in moves)
            if wrong := _problem(own, case):
                own_advice = _advice(own.outcome, entrant)
                both = "; ".join(filter(None, (own_advice, advice)))
                result = replace(result, wrong=f"{wrong}, in {case.what}", advice=both, fails=True)
                break
        yield result
        if name == "start" and result.wrong and not own.times:
            return
    promise = "its moves are understood"
    wrong = "" if moved else "its hero stayed in all games"
    yield CheckResult("moves", promise, wrong, f"send {_WORDS[entrant.kind]}: the server takes other words for Stay")
    yield _timing(entrant, sorted(times))


def play_case(entrant: Entrant, case: Case) -> tuple[SeatRun, Sequence[int]]:
    """Play a case, and return what the program did, with its moves."""
    rivals = [Entrant(name, "random", Limits()) for name in case.names]
    seats = tuple(SeatTask(entrant if hero == case.me else rival, hero) for hero, rival in enumerate(rivals))
    turn, end = int(case.first["turn"].item(0)), int(case.first["max_turns"].item(0))
    rounds, where = (end - turn) // SEATS, map_of(case.first)
    wall, opening = wall_seconds(seats, rounds), Position(draw(case.first))
    task = GameTask("check", "all", 0, 0, 1, where.text(), "check", SEED, rounds, seats, wall_s=wall, opening=opening)
    run = play_seats(task, time.monotonic() + wall, last_attempt=True)
    return run.seats[case.me], run.moves[(case.me - turn) % SEATS :: SEATS]


def _problem(own: SeatRun, case: Case) -> str:
    """Return what a program did wrong in a case, "" for nothing."""
    outcome, moves = own.outcome, len(own.times)
    if own.surplus:
        return f"it wrote output that belongs to no turn: {printable(own.surplus)!r}"
    if outcome.finished:
        return ""
    start = int(case.first["turn"].item(0))
    turn = start + (case.me - start) % SEATS + SEATS * moves
    when = f" on turn {turn}, after {counted(moves, 'move')}" if moves else " before its first move"
    if not moves and outcome.reason is Reason.STALL:  # its message says so
        when = ""
    return printable(f"{outcome.reason}: {outcome.message}" if outcome.message else str(outcome.reason)) + when


def _advice(outcome: Outcome, entrant: Entrant) -> str:
    if outcome.finished:
        return "write one line per turn: the arena discards further lines, or takes them for the next move"
    if outcome.reason is Reason.MEMORY:
        return "use less memory, or raise --memory-mb"
    if outcome.reason is Reason.STALL and outcome.message.startswith("cannot be started"):
        return "check the command: a script needs a first line such as #!/bin/sh, and chmod +x"
    return _ADVICE.get((str(outcome.reason), entrant.kind), "the last lines of its output say why it ended")


def _timing(entrant: Entrant, times: Sequence[float]) -> CheckResult:
    """Return whether all moves, except the first ones of games, were within the time limit. They may be late by the grace."""
    limit, median, most = entrant.limits.move_ms, times[len(times) // 2] if times else 0.0, max(times, default=0.0)
    promise = f"it answers in time: {median:.0f} ms at the median, {most:.0f} ms at most, of {limit} ms"
    wrong = f"a move took {most:.0f} ms" if most > limit else ""
    return CheckResult("time", promise, wrong, "leave a margin: on a busy machine the move is late")


def check_traits(bot: Bot) -> Iterator[CheckResult]:
    """Yield whether each trait of a bot keeps the promises of the conformance suite."""
    for spec, trait in bot.build():
        result = CheckResult(spec.label, f"{spec.class_path} keeps all promises")
        try:
            check_trait(trait)
        except ConformanceError as problem:
            result = replace(result, wrong=f"{problem.check}: {problem.wrong}", advice=problem.advice, fails=True)
        yield result


def check_bot(console: Console, config: Config[ArenaSettings], rounds: int) -> int:
    """Check the first bot of a tournament, print the results, and return the exit code: 0 if no check fails, else 1.

    `rounds` is the number of moves of a program in each game. Raises `UsageError` if there is no such bot.
    """
    entrant = read_entrants(config)[0]
    if entrant.bot is None and not entrant.command:
        say(console, f"{printable(entrant.label)} is built in: there is nothing to check")
        return 0
    warm(console)
    if entrant.bot is not None:
        say(console, f"checking the traits of {printable(entrant.label)}")
        return _show(console, entrant, check_traits(entrant.bot))
    say(console, f"checking {printable(entrant.label)} ({entrant.kind}: {printable(shlex.join(entrant.command))})")
    return _show(console, entrant, check_program(entrant, rounds))


def check_programs(console: Console, entrants: Sequence[Entrant]) -> None:
    """Check the programs among the bots of a tournament, and print the results."""
    for entrant in entrants:
        if entrant.command:
            say(console, f"checking {printable(entrant.label)} in short games")
            _show(console, entrant, check_program(entrant))


def _show(console: Console, entrant: Entrant, results: Iterator[CheckResult]) -> int:
    """Print results, and return the exit code."""
    verdicts = []
    for result in results:
        verdicts.append(result.verdict)
        console.print(f"  [{_STYLES[result.verdict]}]{result.verdict:6}[/] ", end="")
        say(console, printable(f"{result.check:8} {result.promise}"))
        for line in printable_lines(f"{result.wrong}\nwhat to do: {result.advice}").splitlines() if result.wrong else ():
            say(console, f"         {line}")
    failed, warned = verdicts.count("FAILS"), verdicts.count("warns")
    words = f"fails {failed} of {counted(len(verdicts), 'check')}" if failed else f"passes {counted(len(verdicts), 'check')}"
    more = f", with {counted(warned, 'warning')}" if warned else ""
    say(console, f"{printable(entrant.label)} {words}{more}", "bold red" if failed else "bold green")
    return 1 if failed else 0
