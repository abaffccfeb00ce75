"""The layout of a game in a terminal, and the display: no terminal can harm a game."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import shlex
import subprocess
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import numpy as np
import pytest
from hypothesis import given, strategies as st
from rich.console import Console
from rich.segment import Segment, SegmentLines
from structlog.testing import capture_logs

from sim.board import parse, picture as drawn
from sim.game import Games
from sim.generator import generate
from sim.rules import step
from tests.support.commands import command, environment, recorded
from tests.support.recorded import BALLOT, record, states_of
from vindibot.games.ballot import STATUSES, Ballot, BallotEntry
from vindibot.games.history import GameHistory
from vindibot.games.outcome import Outcome
from vindibot.terminal.board import Frame, Line, layout
from vindibot.terminal.display import Display, turn_line

NAMES = ("seed", "[red]two[/red]", "三三三三三三三三三三三三三三三三", "four\x1b[2J\r\n")
BOARD = """
    |@1  $1$-|
    |##  []  |
    |@2    @3|
    |$4  ##@4|
    turn 212 of 1200
    @1 life 87 gold 123
    @2 life 15 gold 9 crashed
    @4 gold 1234
"""


def large() -> Games:
    games = generate(3, size=28).new_game()
    rng = np.random.default_rng(3)
    for _ in range(600):
        step(games, 0, int(rng.integers(1, 5)))
    return games


def text_of(lines: list[Line] | None, width: int = 200) -> str:
    assert lines is not None
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(SegmentLines(lines, new_lines=True))
    return console.export_text()


def frame(games: Games | None = None, ballot: Ballot | None = BALLOT) -> Frame:
    return Frame(parse(BOARD) if games is None else games, 0, NAMES, ballot, 212.5)


# ---- The layout ----


def test_the_panel_is_beside_the_board() -> None:
    assert text_of(layout(frame(), 60, 24)).splitlines() == [
        "@1  $1$-  round 54/300  turn 212  South  212 ms left        ",
        "##  []                                                      ",
        "@2    @3      hero              life             gold  mines",
        "$4  ##@4   1  seed              ━━━━━━━━━━  87    123      1",
        "           2  [red]two[/red]    crashed     15      9      0",
        "           3  三三三三三三三三  ━━━━━━━━━━ 100      0      0",
        "           4  four\\x1b[2J\\r\\n   ━━━━━━━━━━ 100   1234      1",
        "          [] tavern  $- free mine  $1$2$3$4 mines of heroes ",
        "                                                            ",
        "          trait        times stay    N    S    E    W     ms",
        "          tavern-finder  0.9 -.90    0 -.90    -    -    0.2",
        "          combat         0.6                             1.5",
        "          search           2 -1.0 -3.0    0    -    -   late",
        "          sum                -1.0 -2.1    0    -    -       ",
    ]


def test_the_squares_are_named_if_there_is_space() -> None:
    named = "[] tavern  $- free mine  $1$2$3$4 mines of heroes"
    assert named in text_of(layout(frame(large()), 120, 40), 120)
    assert "   tavern     free mine           mines of heroes" in text_of(layout(frame(large()), 80, 24), 80)
    assert "tavern" not in text_of(layout(frame(), 60, 7), 60).replace("tavern-finder", "")


@pytest.mark.parametrize(
    ("size", "width", "height", "seen"),
    [
        (28, 108, 28, "trait"),
        (28, 107, 28, "▀▀"),
        (28, 79, 24, None),
        (28, 120, 9, None),
        (8, 60, 24, "▀▀"),
        (8, 59, 24, None),
    ],
)
def test_the_layout_fits_the_terminal(size: int, width: int, height: int, seen: str | None) -> None:
    games = large() if size == 28 else generate(3, size=8).new_game()
    lines = layout(frame(games), width, height)
    if seen is None:
        assert lines is None
    else:
        assert seen in text_of(lines, width)


@pytest.mark.slow
@given(
    st.integers(10, 140),
    st.integers(2, 60),
    st.booleans(),
    st.lists(st.text(max_size=30), min_size=4, max_size=4),
    st.lists(st.tuples(st.text(max_size=30), st.floats(-1e300, 1e300), st.sampled_from(STATUSES)), max_size=12),
)
def test_every_layout_fits_and_is_printable(width: int, height: int, colour: bool, names, traits) -> None:
    entries = [BallotEntry(label, weight, [0.5, -1, 0, weight, 1], 3.2, status) for label, weight, status in traits]
    ballot = Ballot(entries, [1.0, -2e250, 0.0, 0.0, 0.0], (0, 1, 3), 1, float("inf"), True)
    for games in (_SMALL, _LARGE):
        lines = layout(Frame(games, 2, names, ballot, float("inf")), width, height, colour=colour)
        if lines is not None:
            assert len(lines) <= height
            assert max(Segment.get_line_length(line) for line in lines) <= width
            assert all(segment.text.isprintable() for line in lines for segment in line)


_SMALL, _LARGE = parse(BOARD), large()
MANY = Ballot([BallotEntry(f"trait-{number}", 1, [0.5, -1, 0, 1, 1]) for number in range(6)], [1.0, -2, 0, 0, 0], (0, 1, 3), 1)


@pytest.mark.parametrize("size", [8, 14, 16, 28])
@pytest.mark.parametrize("height", [19, 23])
def test_80_columns_and_24_lines_show_board_and_votes_of_every_size(size: int, height: int) -> None:
    games = generate(3, size=size).new_game()
    lines = layout(Frame(games, 0, NAMES, MANY, 212.5, status="keys"), 80, height)
    assert lines is not None
    assert len(lines) <= height
    assert max(Segment.get_line_length(line) for line in lines) <= 80
    text = text_of(lines, 80).splitlines()
    small = text[0].startswith("▀")
    assert small == (size > 14)
    assert sum(line.startswith("▀") for line in text) == (size // 2 if small else 0)
    if not small:
        assert [line[: 2 * size] for line in text[:size]] == [row.strip("|") for row in drawn(games).splitlines()[1:-1]]
    for word in ("trait-0", "trait-5", "sum", "round 1/300", "gold"):
        assert word in "\n".join(text)
    assert text[-1].rstrip() == "keys"


@pytest.mark.parametrize("hero", [0, 3])
def test_without_colours_the_part_around_our_hero_is_shown(hero: int) -> None:
    games = generate(3, size=28).new_game()
    lines = text_of(layout(Frame(games, hero, NAMES, MANY, 212.5), 80, 19, colour=False), 80).splitlines()
    assert any(f"@{hero + 1}" in line[:28] for line in lines)
    assert any("trait-5" in line for line in lines)


def test_votes_of_an_earlier_turn_say_so() -> None:
    text = text_of(layout(Frame(parse(BOARD), 0, NAMES, BALLOT, 212.5, move="@4 West", voted=209), 60, 24)).splitlines()
    assert text[0][10:].rstrip() == "round 54/300  turn 212  @4 West"
    assert text[8].strip() == "votes of turn 209: South  212 ms left"
    ended = Frame(parse(BOARD), 0, NAMES, BALLOT, 212.5, ending="finished", message="hooray", voted=209)
    text = text_of(layout(ended, 60, 24)).splitlines()
    assert text[0][10:].rstrip() == "round 54/300  turn 212  finished"
    assert text[1][10:].rstrip() == "hooray"
    assert "votes of turn 209" in text[8]


def test_many_traits_are_cut_to_the_height() -> None:
    ballot = Ballot([BallotEntry(f"trait {number}", 1, None) for number in range(20)])
    text = text_of(layout(frame(ballot=ballot), 60, 16))
    assert "trait 4" in text
    assert "and 15 more" in text
    assert "sum" in text
    assert "trait" not in text_of(layout(frame(ballot=ballot), 60, 9))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (-0.3, "-.30"), (-1, "-1.0"), (-250, "-250"), (-2000, "-2k"), (-2.5e7, "-25M"), (-1e300, "-big")],
)
def test_votes_are_differences_to_the_best(value: float, text: str) -> None:
    votes = [41_000 + value, 41_000, 0, 0, 0]
    ballot = Ballot([BallotEntry("x", 1, votes)], votes, (0, 1), 1)
    line = next(line for line in text_of(layout(frame(ballot=ballot), 60, 24)).splitlines() if line[10:12] == "x ")
    assert line[10 + 18 : 10 + 23].strip() == text


# ---- The display ----


class Terminal:
    """A pseudo terminal, and what has been written to it. If `reading` is False, nothing is read from it."""

    def __init__(self, width: int, height: int, *, reading: bool = True) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, np.array([height, width, 0, 0], np.uint16).tobytes())
        self.file: TextIO = os.fdopen(theirs, "w", encoding="utf-8")
        self._data = bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)
        if reading:
            self._thread.start()

    def _read(self) -> None:
        while True:
            try:
                self._data += os.read(self._ours, 65536)
            except OSError:  # the other side is closed
                return

    def text(self) -> str:
        """All that was written, once the other side is closed, without colours."""
        self.file.close()
        self._thread.join()
        os.close(self._ours)
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self._data.decode())


@contextmanager
def colours(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TERM", "xterm-256color")
        for name in ("NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "FORCE_COLOR"):
            patch.delenv(name, raising=False)
        yield


def test_a_live_board_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(120, 40)
    with colours(monkeypatch), Display(terminal.file, width=120, height=40) as display:
        game = display.game(NAMES, 0)
        for _ in range(200):
            game.turn(large(), BALLOT, 812.0)
        display.console.print("a word in between")
        over = large()
        over["turn"] = 1200
        game.finished(Outcome(message="hooray"), over)
    text = terminal.text()
    assert "a word in between" in text
    assert "round 300/300  turn 1200  finished" in text
    assert "hooray" in text
    assert "[red]two[/red]" in text
    assert "·" not in text  # no lines
    assert text.count("\n") < 200 * 28 / 2, "not every turn is drawn"


def test_plies_between_our_turns_keep_the_votes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    history = GameHistory.of(record(tmp_path, states_of(5, plies=40), 1))
    terminal = Terminal(80, 24)
    with colours(monkeypatch), Display(terminal.file, width=80, height=24, below=4) as display:
        game = display.game(NAMES, 0)
        game.turn(history.state(0), BALLOT, 812.0)
        game.played(history[0])
        game.played(history[1])
        display.leave_board()
        game.finished(Outcome(message="hooray"), history.state(40))
    text = terminal.text()
    assert "turn 2  @2 " in text
    assert "turn 40  finished" in text
    assert "votes of turn 0: South  812 ms left" in text.partition("finished")[0]
    assert "votes of turn 0: South  812 ms left" in text.partition("finished")[2]
    assert "hooray" in text
    file = io.StringIO()
    with Display(file) as display:
        game = display.game(NAMES, 0)
        game.turn(history.state(0), BALLOT, 812.0)
        game.played(history[0])
        game.set_status("keys")
    assert file.getvalue().count("\n") == 1, "no lines for plies of rivals"


def test_lines_where_there_is_no_terminal() -> None:
    file = io.StringIO()
    Display(file).leave_board()  # there is none
    with Display(file) as display:
        game = display.game(NAMES, 3)
        for _ in range(3):
            game.turn(parse(BOARD), BALLOT, 812.4)
        game.finished(Outcome(), parse(BOARD))
        game.turn(parse(BOARD), BALLOT, 812.4)  # after the end
    display.console.print("afterwards")
    line = "round 54/300 South · @4 four\\x1b[2J\\r\\n life 100 gold 1234 mines 1 · 812 ms left · search late\n"
    assert file.getvalue() == 3 * line + "afterwards\n"
    assert turn_line(Frame(parse(BOARD), 0, NAMES)) == "round 54/300 · @1 seed life 87 gold 123 mines 1"
    ballot = Ballot([], direction=4, fallback=True)
    assert turn_line(Frame(parse(BOARD), 0, NAMES, ballot, float("inf"))).startswith("round 54/300 West (fallback) · @1 seed")


@pytest.mark.parametrize(("width", "height", "live"), [(60, 24, True), (120, 40, False)])
def test_lines_in_a_terminal_that_is_too_small_and_without_live(
    monkeypatch: pytest.MonkeyPatch, width: int, height: int, live: bool
) -> None:
    terminal = Terminal(width, height)
    with colours(monkeypatch), Display(terminal.file, live=live, width=width, height=height) as display:
        display.game(NAMES, 0).turn(large(), BALLOT, 812.0)
    text = terminal.text()
    assert text.startswith("round 151/300 South · @1 seed life ")
    assert text.count("\n") == 1


def test_several_games_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    with Display(file) as display:
        one, two = display.game(NAMES, 0, "game 1"), display.game(NAMES, 2, "game 2")
        one.turn(parse(BOARD), None)
        two.turn(parse(BOARD), None)
        one.finished(Outcome())
        two.turn(parse(BOARD), None)
    lines = file.getvalue().splitlines()
    assert [line.split(" ·")[0] for line in lines] == ["game 1: round 54/300", "game 2: round 54/300", "round 54/300"]
    terminal = Terminal(80, 24)
    with colours(monkeypatch), Display(terminal.file, width=80, height=24) as display:
        one, two = display.game(("first",) * 4, 0), display.game(("second",) * 4, 0)
        one.turn(parse(BOARD), None)
        two.turn(parse(BOARD), None)
    text = terminal.text()
    assert "first" in text
    assert "second" not in text


def test_an_encoding_without_the_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    with Display(io.TextIOWrapper(raw, encoding="ascii", write_through=True)) as display:
        display.game(NAMES, 2).turn(parse(BOARD), BALLOT, 812.0)
    assert b"round 54/300 South ? @3 ????????????????" in raw.getvalue()
    lines = layout(frame(), 60, 24, ascii_only=True)
    assert "======" in text_of(lines)


# ---- Terminals that misbehave ----


@pytest.mark.slow
def test_a_broken_pipe_does_not_stop_the_game(tmp_path: Path) -> None:
    """The reader of the pipe ends after the first line."""
    words = shlex.join(command("play", "--bot", "stay", "--rounds", "60", "--in-process", "--display", "lines"))
    done = subprocess.run(
        ["bash", "-c", f"{words} | head -n 1; exit ${{PIPESTATUS[0]}}"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr, done.stdout.count(b"\n")) == (0, b"", 1)
    assert len(recorded(tmp_path).turns) == 60


@pytest.mark.slow_faults
def test_a_stopped_terminal_does_not_stop_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(120, 40, reading=False)
    monkeypatch.setattr("vindibot.terminal.display.TIMEOUT", 0.05)
    with colours(monkeypatch), Display(terminal.file, width=120, height=40) as display:
        game = display.game(NAMES, 0)
        games, slowest = large(), 0.0
        for number in range(200):
            started = time.monotonic()
            game.turn(games, BALLOT, 1.0)
            display.console.print("a line of a log that is not short " * 20)
            slowest = max(slowest, time.monotonic() - started)
            if number % 20 == 0:
                time.sleep(0.01)  # let the display hang
    assert slowest < 1
    terminal._thread.start()
    text = terminal.text()
    assert "a line of a log" in text or "round 151/300" in text  # the terminal took only one of them


def test_an_error_of_the_display_is_logged_and_ends_the_display() -> None:
    file = io.StringIO()
    with capture_logs() as logs, Display(file) as display:
        game = display.game(("too", "few"), 3)
        game.turn(parse(BOARD), BALLOT, 1.0)
        assert display._thread is not None
        display._thread.join()
        game.turn(parse(BOARD), BALLOT, 1.0)
        display.console.print("still here")
    assert [entry["event"] for entry in logs] == ["the display has failed and is off; the game goes on"]
    assert file.getvalue() == "still here\n"
