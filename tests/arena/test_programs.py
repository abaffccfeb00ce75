"""Programs in the arena, good and bad ones, over real pipes and real sockets."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sim.game import STAY
from sim.rules import step
from tests.support.arenabots import TOP, first_game, first_task, line_bot, nobody_left, web_bot
from tests.support.documents import blocks
from vindibot.arena.games import play_task
from vindibot.arena.schedule import Schedule, read_map_set
from vindibot.arena.seats.bots import InProcessSeat
from vindibot.arena.seats.entrants import Limits, read_entrants
from vindibot.arena.seats.hosting import environment
from vindibot.arena.settings import ArenaSettings
from vindibot.config.bots import load_bot
from vindibot.config.files import shipped
from vindibot.config.load import load_config
from vindibot.games import game_record as gamerecord

QUIET = ("stay", "random", "random")


# ---- Lines ----


def test_a_program_of_the_line_protocol_plays() -> None:
    with nobody_left():
        line = first_game(f"me={line_bot('miner')}", *QUIET, rounds=30)
    assert (line.winner, line.plies) == ("me", 120)
    assert (line.seats[0].outcome.reason, line.seats[0].moves) == ("finished", 30)


@pytest.mark.slow
def test_our_own_bot_plays_the_same_moves_by_lines() -> None:
    """With a budget of nodes and a seed. The placeholders in its command have the numbers of the game."""
    limits = "--rounds {rounds} --limit-ms {move_ms} --first-ms {first_ms}"
    words = f"stdio:'{sys.executable}' -m vindibot stdio strong --nodes 150 --seed 7 --workers 1 {limits}"
    times = {"limits__start_s": 60, "limits__move_ms": 20_000, "limits__first_ms": 60_000}
    with nobody_left():
        done = play_task(first_task(f"me={words}", "malvert", *QUIET[1:], rounds=20, limits__nodes=150, **times))
    (me,) = (number for number, seat in enumerate(done.line.seats) if seat.bot == "me")
    assert [seat.outcome.reason for seat in done.line.seats] == ["finished"] * 4
    record = gamerecord.loads(done.record)
    games = record.game_map().new_game(80)
    local = InProcessSeat(load_bot("strong"), Limits(nodes=150), 7)
    local.start(games, me)
    compared = 0
    for turn, move in enumerate(record.moves):
        if turn % 4 == me:
            assert local.move(games) == move, turn
            compared += 1
        step(games, 0, move)
    local.close()
    assert compared == 20


def test_expert_input_has_the_targets_of_the_others(tmp_path: Path) -> None:
    notes = tmp_path / "lines"
    played = play_task(first_task(line_bot("expert", notes), "stay", "stay", "stay"))
    spawns = gamerecord.loads(played.record).game_map().starts
    # five states after the first, with three other heroes each, which all stay
    assert notes.read_text().splitlines() == [f"{hero} {spawns[hero][1]} {spawns[hero][0]}" for hero in (1, 2, 3)] * 5


@pytest.mark.parametrize(
    ("mode", "termination", "note"),
    [
        ("dies", "crash", "it ended with exit code 7: some reason"),
        ("silent", "stall", "no answer within 0.5 s on its first turn"),
        ("stalls", "timeout", "no answer in 500 ms"),
        ("rubbish", "illegal", "answered 'HELLO you'"),
        ("floods", "flood", "a line of more than 65536 bytes"),
        ("hungry", "memory", "it ended with exit code 1: "),
    ],
)
def test_bad_programs_of_the_line_protocol_forfeit(mode: str, termination: str, note: str) -> None:
    limits = {"move_ms": 500, "grace_ms": 0, "start_s": 0.5 if mode == "silent" else 20.0}
    if mode == "hungry":
        limits |= {"move_ms": 20_000, "memory_mb": 200}
    with nobody_left():
        line = first_game(line_bot(mode), *QUIET, **{f"limits__{name}": value for name, value in limits.items()})
    bad, moves = line.seats[0], 0 if mode == "silent" else 3
    assert (bad.outcome.reason, bad.moves, bad.crashed) == (termination, moves, True)
    assert bad.outcome.message.startswith(note)
    assert all(seat.outcome.reason == "finished" and seat.moves == 12 for seat in line.seats[1:])
    assert line.plies == 48


def test_the_log_has_the_beginning_and_the_end_of_the_output(tmp_path: Path) -> None:
    line = first_game(f"bad={line_bot('complains')}", *QUIET, logs=tmp_path)
    assert line.seats[0].outcome.reason == "finished"
    log = (tmp_path / "b00000g000-1-bad.log").read_text()
    assert 256_000 < len(log) < 300_000
    assert log.startswith("began\n")
    assert " bytes are left out)\n" in log
    assert log.endswith("\nended\n")


# ---- HTTP ----


@pytest.mark.parametrize("mode", ["training", "lingers", "floods"])
def test_programs_that_speak_http_play_among_others(mode: str, tmp_path: Path) -> None:
    with nobody_left():
        line = first_game(f"web={web_bot(mode)}", "seed", line_bot("chatters"), line_bot("miner"), logs=tmp_path)
    assert [(seat.outcome.reason, seat.moves) for seat in line.seats] == [("finished", 12)] * 4
    assert line.seats[0].ms_median > 0
    if mode == "floods":
        assert (tmp_path / "b00000g000-1-web.log").stat().st_size < 300_000


def test_programs_get_address_and_key_and_need_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "example.com")
    variables = environment("http://127.0.0.1:9000", "key")
    assert variables["no_proxy"] == variables["NO_PROXY"] == "127.0.0.1,localhost,example.com"
    line = first_game(web_bot("given", "{server}", "{key}"), web_bot(), web_bot(), web_bot())
    assert [seat.outcome.reason for seat in line.seats] == ["finished"] * 4


@pytest.mark.parametrize(
    ("mode", "termination", "note", "moves"),
    [
        ("never joins", "stall", "it did not join in 1 s: looking for the server", 0),
        ("dies at start", "crash", "it ended with exit code 1: cannot find my settings", 0),
        ("dies", "crash", "it ended with exit code 1: out of ideas", 3),
        ("stalls", "timeout", "no answer in 500 ms", 3),
    ],
)
def test_bad_http_programs_forfeit(mode: str, termination: str, note: str, moves: int) -> None:
    with nobody_left():
        start = 1.0 if mode == "never joins" else 20.0
        line = first_game(web_bot(mode), *QUIET, limits__move_ms=500, limits__first_ms=2000, limits__start_s=start)
    bad = line.seats[0]
    assert (bad.outcome.reason, bad.outcome.message, bad.moves, bad.crashed) == (termination, note, moves, True)
    assert [seat.outcome.reason for seat in line.seats[1:]] == ["finished"] * 3
    assert line.plies == 48


@pytest.mark.slow
def test_no_seat_is_at_fault_while_a_program_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker kills a game whose bot hangs. A bot that waits for the start of the game does not hang."""
    monkeypatch.setattr("vindibot.arena.seats.bots.HANG_SECONDS", 1.0)
    line = first_game(web_bot("late", 2.5), "random", "random", "stay")
    assert [(seat.outcome.reason, seat.outcome.message, seat.moves) for seat in line.seats] == [("finished", "", 12)] * 4


def test_the_bots_of_the_tournament_that_ships_play() -> None:
    """Play two of its games, in which each of the eight sits."""
    settings = {"blocks": 1, "rounds": 10, "limits.move_ms": 20_000}
    config = load_config(ArenaSettings, "tournaments/mixed", settings, environ={})
    schedule = Schedule(config.settings, tuple(read_entrants(config)), read_map_set(config.settings.maps, 1), 1)
    assert len(schedule) == 280
    entrants = {entrant.label: entrant for entrant in schedule.entrants}
    assert {entrant.kind for entrant in entrants.values()} == {"bot", "random", "stay", "http", "stdio"}
    assert (entrants["deep"].limits.nodes, entrants["greedy"].limits.first_ms) == (5000, 5000)
    assert (entrants["miner"].limits.move_ms, entrants["seed"].limits.move_ms) == (1000, 20_000)
    tasks = list(schedule.tasks())
    played = [tasks[0], tasks[-1]]
    for task in played:
        line = play_task(task).line
        assert [(seat.outcome.reason, seat.moves) for seat in line.seats] == [("finished", 10)] * 4, line
    assert {seat.entrant.label for task in played for seat in task.seats} == set(entrants)


def test_the_program_of_the_line_protocol_that_ships_is_the_one_of_the_documents() -> None:
    text = (TOP / "docs" / "other-languages.md").read_text()
    shipped_miner = shipped("tournaments/programs/miner.sh").read_text()
    assert shipped_miner in [block.text for block in blocks(text, "sh")]


def test_a_hosted_game_ends_when_it_is_decided_and_unknown_directions_are_stay() -> None:
    """As on the original server."""
    bots = (web_bot("rubbish"), "seed", "malvert", "sparring/miner")  # its words mean Stay, so each run is the same game
    played = play_task(first_task(*bots, adjudicate="decided", rounds=60, seed=2))
    line = played.line
    assert (line.ending, {seat.outcome.reason for seat in line.seats}) == ("adjudicated", {"finished"})
    assert set(gamerecord.loads(played.record).moves[12::4]) == {STAY}
    assert line.plies < 240
