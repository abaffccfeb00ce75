"""The summary: standings, pairs, the match, and how they are printed during the tournament and at the end."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from tests.support.arenagames import SEATINGS, game_line, made_up, rotations
from vindibot.arena.report.live import GameRate, Reporter, TournamentInfo, duration
from vindibot.arena.report.summary import Pair, Summary, summarise
from vindibot.arena.report.table import figures, percent, points, progress_lines, show, signed
from vindibot.arena.results import GameLine
from vindibot.arena.settings import SprtSettings
from vindibot.games.outcome import Outcome, Reason


def shown(summary: Summary, width: int = 80) -> str:
    out = io.StringIO()
    show(Console(file=out, width=width), summary)
    return out.getvalue()


def forfeited(line: GameLine, seat: int, reason: Reason) -> GameLine:
    seats = [replace(one, outcome=Outcome(reason)) if n == seat else one for n, one in enumerate(line.seats)]
    return replace(line, seats=tuple(seats))


def test_the_figures_of_a_bot_count_its_games_and_seats() -> None:
    games = [
        game_line("abcd", (10, 20, 30, 40), block=0, map={"name": "m", "size": 8}),
        forfeited(game_line("abcc", (90, 20, 30, 40), block=1, map={"name": "n", "size": 20}), 0, Reason.TIMEOUT),
        game_line("abab", (50, 50, 0, 0), block=2, map={"name": "n", "size": 20}),
    ]
    found = {one.bot: one for one in summarise(games).standings}
    a, c = found["a"], found["c"]
    assert (a.games, a.seats, a.wins) == (3, 4, 1)
    assert a.gold == (10 + 90 + 50 + 0) / 4
    assert a.place == (4 + 1 + 1.5 + 3.5) / 4
    assert a.sizes == {8: (4.0, 1), 20: (2.0, 3)}
    assert a.reasons == {"finished": 3, "timeout": 1}
    assert (c.games, c.seats, c.wins) == (2, 3, 0)
    pairs = {(pair.bot, pair.other): pair for pair in summarise(games).pairs}
    assert pairs["a", "d"] == Pair("a", "d", ahead=0, behind=1, level=0)
    assert pairs["a", "b"] == Pair("a", "b", ahead=2, behind=2, level=2)
    assert pairs["a", "b"].score == 0.5
    assert a.ms_median is None  # it never moved by itself


def test_stalled_rounds_are_a_mean_over_the_seats_that_have_them() -> None:
    rows = [(50, 40, None, None), (0, None, None, None)]
    lines = [game_line("aabb", (10, 20, 20, 5), block=block) for block in (0, 1)]
    games = [
        replace(line, seats=tuple(replace(seat, stalled=rounds) for seat, rounds in zip(line.seats, row, strict=True)))
        for line, row in zip(lines, rows, strict=True)
    ]
    found = {one.bot: one for one in summarise(games).standings}
    assert (found["a"].stalled, found["b"].stalled) == (30, None)
    assert figures(found["a"])["stalled"] == "30.0"


@pytest.mark.parametrize("bots", [4, 12])
def test_every_line_fits_80_columns(bots: int) -> None:
    names = [f"{letter}-sixteen-letters"[:16] for letter in "abcdefghijkl"[:bots]]
    strengths = {name: 900.0 - 150 * number for number, name in enumerate(names)}
    games = made_up([names[first : first + 4] for first in range(bots - 3)], strengths, 20, np.random.default_rng(4), most=90_000)
    games = [forfeited(game, 0, reason) for game, reason in zip(games, Reason, strict=False)] + games[len(Reason) :]
    text = shown(summarise(games, anchor=names[1], resamples=200), width=40 if bots == 4 else 200)
    assert f"{len(games)} games in 20 blocks" in text
    assert f"{names[1]} is 0" in text
    assert "crash 1" in text
    assert max(map(len, text.splitlines())) <= 80
    assert text.count(names[0][:13]) >= 2  # of the label at most a few characters are cut
    assert ("ahead of" in text) == (bots <= 10)


def test_labels_are_cut_where_figures_need_their_place_and_markup_is_text() -> None:
    names = ["[red]sixteen-let", "[/]", "\x1b[31m", "d"]
    games = [game_line(names, (9_000_000, 8_000_000, 3, 2), block=block) for block in range(20)]
    text = shown(summarise(games, resamples=200))
    assert max(map(len, text.splitlines())) <= 80
    assert any(row.startswith("[red]sixteen-…") and "9000000" in row for row in text.splitlines()), text
    assert "[/]" in text
    assert "\x1b" not in text


def ab(games: Sequence[GameLine]) -> list[GameLine]:
    return [replace(game, format="ab") for game in games]


@pytest.mark.slow
def test_a_against_a_of_fixed_play_has_no_verdict_and_a_wide_margin_has_one() -> None:
    same = [
        game_line(bots, (4, 3, 2, 1), block=n, game=m, games=6, played=str(n))
        for n in range(50)
        for m, bots in enumerate(SEATINGS)
    ]
    assert "no verdict: too few of the games are distinct" in shown(summarise(ab(same), "ab", planned=50))
    games = ab(made_up(SEATINGS, {"a": -300.0, "b": 0.0}, 40, np.random.default_rng(3)))
    assert "a is not stronger than b" in shown(summarise(games, "ab", planned=40))
    assert "five standard errors beyond both" in shown(summarise(games, "ab", planned=40))


def test_a_match_fits_80_columns() -> None:
    a, b = "a-sixteen-letter", "b-sixteen-letter"
    for strength, planned in ((30.0, 40), (30.0, 41), (-300.0, 40)):
        seatings = [tuple(a if bot == "a" else b for bot in bots) for bots in SEATINGS]
        games = ab(made_up(seatings, {a: strength, b: 0.0}, 40, np.random.default_rng(3)))
        for settings in (SprtSettings(), SprtSettings(stop=True)):
            summary = summarise(games, (a, b), planned=planned, sprt=settings, resamples=100)
            assert summary.match is not None
            running = progress_lines(a, b, summary.match.state)
            assert max(map(len, [*shown(summary, width=200).splitlines(), *running])) <= 80


def test_numbers_in_tables() -> None:
    assert [percent(value) for value in (0.0, 0.004, 0.5, 0.999, 1.0, None)] == ["0%", "<1%", "50%", ">99%", "100%", ""]
    assert [points(value) for value in (12.6, -0.2, float("inf"), None)] == ["+13", "+0", "+inf", ""]
    assert [signed(value) for value in (-0.001, 0.0, 2.345, -1.5)] == ["+0.00", "+0.00", "+2.35", "-1.50"]
    assert [duration(seconds) for seconds in (7, 99, 720, 11100)] == ["7 s", "99 s", "12 min", "3 h 05"]


def test_the_pace_is_that_of_the_last_games() -> None:
    now = 0.0
    pace = GameRate(lambda: now)
    assert pace.left(10) == ""
    for _ in range(400):
        now += 2
        pace.tick()
    assert pace.per_minute() == pytest.approx(30)
    assert pace.left(60) == "2 min left" or pace.left(60) == "120 s left"
    now += 600  # nothing ends any more
    assert pace.per_minute() < 15


# ---- While it runs ----


def run(games: Sequence[GameLine], before: int = 0, bots: str = "abcd", file: io.StringIO | None = None, **more: Any) -> str:
    """Report the games but the first `before` to a terminal or a file, and return what is printed. `more`: the tournament's."""
    out = file or io.StringIO()
    reporter = Reporter(Console(file=out, width=60, height=30, force_terminal=more.pop("terminal", False)))
    reporter.begin(TournamentInfo("a test", tuple(bots), len(games), 20, games[:before], **more))
    for line in games[before:]:
        reporter.finished(line)
    reporter.note("a worker was started anew [red]")
    reporter.end()
    return out.getvalue()


def test_plain_lines_have_the_progress() -> None:
    games = made_up(rotations("abcd"), {"a": 200.0, "b": 0.0, "c": 0.0, "d": -200.0}, 20, np.random.default_rng(3))
    games[30] = forfeited(games[30], 2, Reason.TIMEOUT)
    text = run(games, before=10, anchor="d")
    lines = text.splitlines()
    assert lines[0] == "a test: 80 games in 20 blocks; 10 of them are there already"
    assert "a worker was started anew [red]" in lines
    assert any(line.startswith("block 7, game 2: @3 ") and line.endswith("timeout") for line in lines)
    assert lines[-1].startswith("80/80 games")
    assert " · a +" in lines[-1]
    assert lines[-1].endswith(", d +0"), "the zero of the final ratings"
    assert "\x1b" not in text


@pytest.mark.parametrize("count", [60, 180])
def test_a_match_shows_its_test_while_it_runs(count: int) -> None:
    games = ab(made_up(SEATINGS, {"a": 300.0, "b": 0.0}, 30, np.random.default_rng(2)))[:count]
    text = run(games, bots="ab", sprt=SprtSettings())
    assert re.search(r"^  LLR \+\d\.\d\d in -\d\.\d\d \.\. \+\d\.\d\d after \d+ blocks · LOS of a >?\d+%$", text, re.MULTILINE)
    assert ("a is stronger than b" in text) == (count == 180)
    drawn = run(games, count, bots="ab", sprt=SprtSettings(), terminal=True)
    assert "LLR +" in drawn
    assert "LOS of a" in drawn


def test_a_terminal_shows_a_bar_and_the_table_so_far_and_cleans_up() -> None:
    games = made_up(rotations("abcd"), {"a": 200.0, "b": 0.0, "c": 0.0, "d": -200.0}, 10, np.random.default_rng(3))
    text = run(games, terminal=True)
    for part in ("40/40 games", "rating", "a worker was started anew [red]"):
        assert part in text
    assert text.rstrip().endswith("\x1b[2K")  # the picture is taken away: the final table follows


def test_a_hundred_forfeits_are_not_a_hundred_lines() -> None:
    text = run([forfeited(game_line("abcd", (1, 2, 3, 4), block=n), 0, Reason.CRASH) for n in range(100)])
    assert text.count("@1 a crash") == 5
    assert "100 forfeits" in text


def test_a_terminal_that_is_gone_or_takes_nothing_stops_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    free = threading.Event()

    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    class Stopped(io.StringIO):
        def write(self, text: str) -> int:
            free.wait()
            return len(text)

    with (tmp_path / "out").open("w") as out:  # rich turns standard output off when a terminal is gone: not pytest's
        monkeypatch.setattr("sys.stdout", out)
        for terminal in (False, True):
            run([game_line("abcd", (1, 2, 3, 4))], file=Gone(), terminal=terminal)
        monkeypatch.undo()
    monkeypatch.setattr("vindibot.arena.report.live.TIMEOUT", 0.1)
    run([game_line("abcd", (1, 2, 3, 4), block=n) for n in range(50)], file=Stopped())
    free.set()
