"""The checks of a program: the games of each check, and what a program that fails one should do."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from vindibot.arena.checks.case import Case, CaseRun, middle_game, new_game, owning
from vindibot.arena.checks.starts import last_lines
from vindibot.arena.seats.entrants import Entrant
from vindibot.base.output.text import counted, printable
from vindibot.games.outcome import Outcome, Reason
from vindibot.processes.support import require_children

#: Number of moves of the program in each game, unless the user wants another number.
ROUNDS = 8
#: Seconds by which the rivals are late in the check "late".
LATE_SECONDS = 1.5
#: Names that break programs which search an answer for words or cut names off. The longest possible name is among them.
HARD_NAMES = ('{"finished":true}', "a bot with a name of forty characters...", "Ünïcode ☃ 名前 \\ %s", "0")
#: Number of lines that are shown of the standard error.
OUTPUT_LINES = 6
#: The two protocols: standard input and output, and HTTP.
Protocol = Literal["stdio", "http"]

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
_MEMORY = "use less memory, or raise --memory-mb"
_CRASH = "the last lines of its output say why it ended"


@dataclass(frozen=True)
class CheckResult:
    """The result of one check.

    - `check`, `promise`: the name of the check, and what a program must do.
    - `wrong`: what is wrong, empty if nothing is. `advice`: what to do.
    - `fails`: whether the program would forfeit games or play other moves than it means. Otherwise the finding is only a warning.
    - `lines`, `output`: the last lines that the program read and wrote, and the last lines of its standard error.
    """

    check: str
    promise: str
    wrong: str = ""
    advice: str = ""
    fails: bool = False
    lines: tuple[str, ...] = ()
    output: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProgramCheck:
    """A check: its name, what a program must do, its games, and what a program that fails them should do."""

    name: str
    promise: str
    cases: Callable[[int], Sequence[Case]]
    advice: str = ""
    protocols: tuple[Protocol, ...] = ("stdio", "http")


def _start(rounds: int) -> list[Case]:
    return [Case("a map of 10 x 10, as hero 1", new_game(10, rounds))]


def _seats(rounds: int) -> list[Case]:
    return [Case(f"a map of 10 x 10, as hero {me + 1}", new_game(10, rounds), me) for me in (1, 2, 3)]


def _sizes(rounds: int) -> list[Case]:
    sizes = (8, *range(12, 29, 2))
    return [Case(f"a map of {size} x {size}, as hero 1", new_game(size, rounds)) for size in sizes]


def _middle(rounds: int) -> list[Case]:
    found = []
    for me in (0, 2):
        games = middle_game(rounds, me)
        last = games.copy()
        last["max_turns"] = int(games["turn"].item(0)) + 4
        found += [
            Case(f"a game that begins on turn {600 + me}, as hero {me + 1}", games, me),
            Case(f"a game in which all mines belong to hero {me + 1}, the program's hero", owning(games, me), me),
            Case(f"the last round of a game, as hero {me + 1}", last, me),
        ]
    return found


def _late(rounds: int) -> list[Case]:
    return [Case(f"a game whose rivals are {LATE_SECONDS:g} s late", new_game(10, max(4, rounds)), 2, late_s=LATE_SECONDS)]


def _names(rounds: int) -> list[Case]:
    return [Case("a game against rivals with hard names", new_game(10, rounds), 3, HARD_NAMES)]


CHECKS = (
    ProgramCheck("start", "it starts and plays a short game", _start),
    ProgramCheck("seats", "it plays as hero 2, 3 and 4", _seats, "its hero may be any of the four, and another one moves first"),
    ProgramCheck("sizes", "it plays on maps of all sizes", _sizes, "a map has 8 to 28 rows: take its size from the game"),
    ProgramCheck(
        "middle",
        "it plays a game that begins in the middle",
        _middle,
        "its hero may stand anywhere, and every mine may have any owner, its own hero too",
    ),
    ProgramCheck("late", "it waits for rivals that are late", _late, "wait for the next state without a time limit"),
    ProgramCheck(
        "names",
        "it plays against rivals with any names",
        _names,
        "read the answer with a library for JSON: a name may have 40 characters, and every visible one",
        ("http",),
    ),
)
_ENDS = "it ends after the game"
_TIME = "it answers in time"


def check_program(entrant: Entrant, rounds: int = ROUNDS) -> Iterator[CheckResult]:
    """Play the games of all checks with a program, and yield the finding of each check when it is known.

    `rounds` is the number of moves of the program in each game. If the program does not play the first game, the other checks are
    left out.
    """
    require_children()
    play = _player(entrant)
    times: list[float] = []
    first: CaseRun | None = None
    with tempfile.TemporaryDirectory(prefix="vindibot-check-") as folder:
        for check in CHECKS:
            if entrant.kind not in check.protocols:
                continue
            finding = CheckResult(check.name, check.promise)
            for number, case in enumerate(check.cases(rounds)):
                run = _run(play, case, Path(folder, f"{check.name}-{number}.log"))
                first = first or run
                times += run.times[1:]
                finding = _finding(check, entrant, case, run)
                if finding.wrong:
                    break
            yield finding
            if check.name == "start" and finding.fails and not run.times:
                return
    assert first is not None
    if first.outcome.finished:
        yield _ending(first)
    yield _timing(entrant, times)


def _player(entrant: Entrant) -> Callable[[Case, Path], CaseRun]:
    if entrant.kind == "stdio":
        from vindibot.arena.checks.lines import play_lines

        return partial(play_lines, entrant)
    from vindibot.arena.checks.web import play_web

    return partial(play_web, entrant)


def _run(play: Callable[[Case, Path], CaseRun], case: Case, log: Path) -> CaseRun:
    run = play(case, log)
    run.output = last_lines(log, OUTPUT_LINES)
    return run


def _finding(check: ProgramCheck, entrant: Entrant, case: Case, run: CaseRun) -> CheckResult:
    """Return what is wrong in a case."""
    shown = tuple(printable(line) for line in run.lines)

    def fails(wrong: str, advice: str, *, serious: bool = True) -> CheckResult:
        both = "; ".join(filter(None, (advice, check.advice)))
        return CheckResult(check.name, check.promise, f"{wrong}, in {case.what}", both, serious, shown, tuple(run.output))

    if not run.outcome.finished:
        moves = len(run.times)
        when = f"on turn {case.turn_of(moves)}, after {counted(moves, 'move')}" if moves else "before its first move"
        return fails(f"{_words(run.outcome)} {when}", _advice(run.outcome, entrant))
    if run.surplus:
        return fails(
            f"it wrote output that belongs to no turn: {printable(run.surplus)!r}",
            "write one line per turn: the arena discards further lines, or takes them for the next move",
        )
    if run.unknown:
        return fails(
            f"the server does not know the move {printable(run.unknown)!r} and plays Stay instead",
            "send dir=Stay, North, South, East or West",
        )
    if run.refused:
        return fails(
            f"the server refused a request: {printable(run.refused)}",
            "send one move per answer, to the playUrl of this answer, until `finished` is true",
            serious=False,
        )
    return CheckResult(check.name, check.promise)


def _words(outcome: Outcome) -> str:
    return printable(f"{outcome.reason}: {outcome.message}" if outcome.message else str(outcome.reason))


def _advice(outcome: Outcome, entrant: Entrant) -> str:
    if outcome.reason is Reason.MEMORY:
        return _MEMORY
    if outcome.reason is Reason.STALL and outcome.message.startswith("cannot be started"):
        return "check the command: a script needs a first line such as #!/bin/sh, and chmod +x"
    return _ADVICE.get((str(outcome.reason), entrant.kind), _CRASH)


def _ending(run: CaseRun) -> CheckResult:
    """Return whether the program ended after its first game."""
    shown = tuple(printable(line) for line in run.lines)
    if run.ended is None:
        advice = "end when the input ends, or when `finished` is true; the arena kills it otherwise"
        return CheckResult("end", _ENDS, "it still ran two seconds after the end of the game", advice, False, shown)
    if run.ended != 0:
        advice = "the end of the input, or `finished`, is the end of the game and no error"
        wrong = f"it ended with exit code {run.ended} after the game"
        return CheckResult("end", _ENDS, wrong, advice, False, shown, tuple(run.output))
    return CheckResult("end", _ENDS)


def _timing(entrant: Entrant, times: Sequence[float]) -> CheckResult:
    """Return whether all moves, except the first ones of games, were within the time limit. They may be late by the grace."""
    limit, ordered = entrant.limits.move_ms, sorted(times)
    if not ordered:
        return CheckResult("time", _TIME)
    said = f"{_TIME}: {ordered[len(ordered) // 2]:.0f} ms at the median, {ordered[-1]:.0f} ms at most, of {limit} ms"
    if ordered[-1] <= limit:
        return CheckResult("time", said)
    return CheckResult("time", said, f"a move took {ordered[-1]:.0f} ms", "leave a margin: on a busy machine the move is late")
