"""The report: one page that needs no other file, with any labels, and charts that agree with the games."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from sim.maps import named_map
from sim.rules import step
from tests.games.test_review import HEADER, turn
from tests.support.arenagames import SEATINGS, game_line, made_up, rotations
from vindibot import __version__
from vindibot.arena.report.page import LISTED, choose, gold_curves, report, write_report
from vindibot.arena.report.summary import summarise
from vindibot.arena.results import GameLine
from vindibot.arena.settings import SprtSettings
from vindibot.arena.store import Store, TournamentOrigin, read_origin, setup_path
from vindibot.base.pages import Curve, Range, lines, ranges, ticks
from vindibot.games.files.review import write_review_line
from vindibot.games.game_record import GameRecord, dumps
from vindibot.games.outcome import Outcome, Reason

EVIL = "<script>alert('1')</script>\"&amp;"
#: The path of results that do not exist.
NONE = Path("none/cup.jsonl")


def addresses(page: str) -> set[str]:
    return set(re.findall(r' (?:src|href|action|xlink:href)="([^"]*)"', page))


def charts(page: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(found) for found in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def tournament(blocks: int = 8) -> list[GameLine]:
    return made_up(rotations("abcd"), {"a": 150.0, "b": 0.0, "c": 0.0, "d": -150.0}, blocks, np.random.default_rng(1))


@pytest.mark.slow
def test_the_page_needs_nothing_else() -> None:
    games = [replace(game, block=block, game=0) for block, game in enumerate(tournament(LISTED // 4 + 2))]
    page = report(NONE, summarise(games, resamples=0), games)
    assert f"{len(games) - LISTED} more are in the file of results" in page
    assert addresses(page) == {"data:,", NONE.name}, "an empty icon, and a link to the results"
    assert not re.findall(r"<(?:script|iframe|img|object|embed|form|base)\b|url\(|@import|http(?!-equiv)", page)
    assert "default-src 'none'" in page


def test_labels_and_names_are_text() -> None:
    for few in ([], [game_line("abcd", (4, 3, 2, 0))]):
        assert "</html>" in report(NONE, summarise(few, "abcd"), few, bots="abcd")
    names = (EVIL, "</title>", "\u202eright", "d")
    games = [game_line(names, (4, 3, 2, 1), block=n, map={"name": EVIL, "size": 8}) for n in range(6)]
    seat = replace(games[0].seats[0], outcome=Outcome(Reason.CRASH, f'" onload="x{EVIL}'))
    games[0] = replace(games[0], seats=(seat, *games[0].seats[1:]), record=EVIL)
    page = report(NONE, summarise(games), games, bots=names)
    assert EVIL in unescape(page)
    assert not re.findall(r'<script|<[\w:]+( [\w:-]+="[^"]*")* on\w+=', page)
    assert "&lt;/title&gt;" in page


def test_the_charts_agree_with_the_table() -> None:
    games = tournament()
    summary = summarise(games)
    ratings, gold = charts(report(NONE, summary, games))
    best = summary.standings[0]
    assert best.rating is not None
    notes = [note.text or "" for note in ratings.iter("title")]
    assert notes[0].startswith(f"{best.bot}: {round(best.rating.rating):+d}, 95 % ")
    assert len(list(ratings.iter("circle"))) == len(list(gold.iter("circle"))) == 4
    at = [float(dot.get("cx", 0)) for dot in ratings.iter("circle")]
    assert at == sorted(at, reverse=True)


@pytest.mark.parametrize(
    ("planned", "sprt", "part", "stopped"),
    [
        (40, SprtSettings(), False, False),
        (400, SprtSettings(), True, False),
        (400, SprtSettings(stop=True, fewest=50), True, False),
        (400, SprtSettings(stop=True), False, True),
    ],
)
def test_a_match_is_described_in_words(planned: int, sprt: SprtSettings, part: bool, stopped: bool) -> None:
    games = [replace(line, format="ab") for line in made_up(SEATINGS, {"a": 300.0, "b": 0.0}, 40, np.random.default_rng(3))]
    page = report(NONE, summarise(games, "ab", planned=planned, sprt=sprt), games, bots="ab")
    assert ("a is stronger than b" in page) == (sprt.fewest < 50)
    assert "test of +20 points, not +0, alpha 0.05, beta 0.05" in page
    assert ("points in 40 blocks" in page) == (planned == 40)
    assert ("Only a part" in page) == part
    assert ("Stopped by the test" in page) == ("stopped by the test" in page.split("</p>", 1)[0]) == stopped


# ---- Gold over time, and files ----


def record(number: int, rounds: int = 5) -> tuple[GameRecord, list[list[int]]]:
    """Return a game of random moves, and the gold of all heroes before the first and after every round."""
    first = named_map("m1").new_game(4 * rounds)
    games, rng, moves, golds = first.copy(), np.random.default_rng(number), [], []
    for _ in range(rounds):
        golds.append(games["hero"][0]["gold"].tolist())
        for _ in range(4):
            moves.append(int(rng.integers(5)))
            step(games, 0, moves[-1])
    golds.append(games["hero"][0]["gold"].tolist())
    end = {"ending": Reason.FINISHED, "started": datetime.now(UTC), "finished": datetime.now(UTC)}
    return GameRecord.of(first, id=f"g{number}", names=("a", "b", "a", "c"), moves=moves, **end), golds


def test_gold_over_time_is_recomputed_from_the_records(tmp_path: Path) -> None:
    found = [record(number, 40) for number in range(3)]
    path = tmp_path / "cup.games.jsonl"
    again = dumps(found[1][0])
    path.write_bytes(b"\n".join([*(dumps(played) for played, _ in found), again, again[:50]]) + b"\n")
    curves, count = gold_curves(tmp_path / "cup.jsonl", {"g0", "g1", "g2", "elsewhere"})
    assert count == 3  # g1 is there twice, and a last one is cut off
    golds = np.array([gold for _, gold in found], dtype=float)  # game, round, hero
    assert golds[:, -1].sum() > 0
    assert curves["a"] == pytest.approx(golds[:, :, [0, 2]].mean(axis=(0, 2)).tolist())
    assert curves["c"] == pytest.approx(golds[:, :, 3].mean(axis=0).tolist())
    assert gold_curves(tmp_path / "cup.jsonl", {"g0", "g1", "g2"}, most=1)[1] == 1
    short, few = record(3, 2)
    path.write_bytes(dumps(short) + b"\n" + dumps(found[2][0]) + b"\n")
    curve = gold_curves(tmp_path / "cup.jsonl", {"g2", "g3"})[0]["b"]
    assert (len(curve), curve[-1]) == (41, golds[2, -1, 1]), "a game that is over does not count any more"
    assert curve[2] == (few[2][1] + golds[2, 2, 1]) / 2


def test_links_lead_to_what_is_there_and_the_latest_games_and_those_with_forfeits_have_pages(tmp_path: Path) -> None:
    results, records = tmp_path / "a cup#1.jsonl", tmp_path / "a cup#1.games.jsonl"
    games = [game_line("abac", (4, 3, 2, 1), block=n, record=f"g{n}") for n in range(6)]
    games[1] = replace(games[1], seats=(replace(games[1].seats[0], outcome=Outcome(Reason.CRASH)), *games[1].seats[1:]))
    games[5] = replace(games[5], record="lost")
    records.write_bytes(b"".join(dumps(record(n)[0]) + b"\n" for n in range(5)))
    assert [game.block for game in choose(games, 3)] == [5, 4, 1]
    assert choose(games, 0) == choose([], 8) == []
    path = write_report(results, summarise(games), games)
    assert sorted(tmp_path.iterdir()) == [records, path]
    assert "Games to watch" not in path.read_text("utf-8")
    page = write_report(results, summarise(games), games, replays=3).read_text("utf-8")
    assert len(charts(page)) == 3
    made = sorted(path.name for path in (tmp_path / "a cup#1.games").iterdir())
    assert made == ["block1-game0.html", "block4-game0.html"]
    pages = {f"a%20cup%231.games/{name}" for name in made}
    assert addresses(page) == {"data:,", "a%20cup%231.jsonl", "a%20cup%231.games.jsonl", *pages}
    assert "Games to watch" in page
    assert "vindibot replay &#39;a cup#1.games.jsonl&#39; --game RECORD --html game.html" in page
    assert '"id":"g4"' in (tmp_path / "a cup#1.games" / "block4-game0.html").read_text("utf-8").replace(" ", "")


def test_the_report_says_how_the_games_were_played_as_far_as_that_is_known(tmp_path: Path) -> None:
    results = tmp_path / "cup.jsonl"
    assert read_origin(results) == TournamentOrigin()
    command = "vindibot arena seed <b> --blocks 2 --config 'a\nb' 'http:x --key=verysecret'"
    Store(results, "t", {"seed": 77}, resume=False, records=False, command=command).close()
    started = "2026-03-01T23:58:00+00:00"
    games = [game_line("abcd", (4, 3, 2, 1), block=n, started=started, seconds=300 * n) for n in range(2)]
    page = report(results, summarise(games), games)
    words = unescape(re.sub("<[^>]*>", "", page))
    assert "vindibot arena seed <b> --blocks 2 --config 'a\\nb'" in words
    assert "verysecret" not in page
    assert "2026-03-01 23:58 UTC to 2026-03-01 23:58 UTC" in words
    assert ">77<" in page
    assert f"vindibot {__version__}" in words
    for text in ("no = toml = at all", "seed = 5\n"):
        setup_path(results).write_text(text)
        assert read_origin(results) == TournamentOrigin()
    games = [replace(games[0], started=text) for text in ("", "yesterday", "2026-03-01T23:58:00")]
    page = report(results, summarise(games), games)
    assert "begun with" not in page
    assert ">played<" not in page


# ---- Charts ----

finite = st.floats(-1e6, 1e6)


@given(finite, st.floats(1e-3, 1e6))
def test_ticks_are_round_and_inside(low: float, width: float) -> None:
    found = ticks(low, low + width)
    assert 1 <= len(found) <= 7
    slack = 1e-8 * (width + abs(low))
    assert all(low - slack <= value <= low + width + slack for value in found)
    assert found == sorted(found)


@given(st.lists(st.tuples(st.text(max_size=20), finite, finite, finite), max_size=5))
@example([("nearly 0", 0.0, 5e-324, 0.0)])
def test_any_ranges_and_lines_can_be_drawn(rows: list[tuple[str, float, float, float]]) -> None:
    drawn = [
        Range(label, index, middle, (low, high), (low, high), label) for index, (label, low, middle, high) in enumerate(rows)
    ]
    for text in (ranges(drawn, "x", "unit", zero=True), lines([Curve(row[0], 0, row[1:]) for row in rows], "x", "a", "b")):
        ElementTree.fromstring(text)
        assert "nan" not in text


def test_labels_of_curves_that_end_together_are_moved_apart() -> None:
    drawn = ElementTree.fromstring(lines([Curve(name, 0, [1.0, 2.0]) for name in "abc"], "t", "x", "y"))
    heights = sorted(float(text.get("y", 0)) for text in drawn.iter() if text.text in {*"abc"} and text.get("y"))
    assert len(heights) == 3
    assert min(np.diff(heights)) >= 12.9


def test_a_review_of_the_games_is_in_the_report(tmp_path: Path) -> None:
    games = [game_line("abcd", (4, 3, 2, 1), block=block, record=f"g{block}") for block in range(4)]
    results = tmp_path / "cup.jsonl"
    assert "Mean loss" not in report(results, summarise(games), games)
    review = [
        line
        for number, game in enumerate(games)
        for line in (HEADER.model_copy(update={"game": game.record}), turn(0, 30 + number), turn(1, 10 + number, hero=2, kind=""))
    ]
    path = tmp_path / "cup.games.review.jsonl"
    path.write_bytes(b"".join(write_review_line(line) + b"\n" for line in review))
    page = report(results, summarise(games), games)
    _, _, section = page.partition("Mean loss per move, in gold")
    found = re.findall(r"<td>(\d+)</td><td>([\d.]+)</td><td>([\d.]+) to ([\d.]+)</td>", section)
    assert [(moves, loss) for moves, loss, _, _ in found] == [("4", "11.50"), ("4", "31.50")]
    assert all(float(low) < float(loss) < float(high) for _, loss, low, high in found)
    assert "Several moves" in section
    path.write_bytes(b'{"review":{}}\n')
    assert "Mean loss" not in report(results, summarise(games), games), "a damaged review is left out"
