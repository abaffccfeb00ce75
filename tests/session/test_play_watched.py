"""``vindibot play`` as a person watches it: in a terminal, by keys, and in the browser."""

from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path

import httpx
import pytest

from tests.support.commands import ended, opened, recorded
from tests.support.terminals import TerminalProgram

GAME = ("play", "--map", "20-5", "--seed", "3", "--in-process")
SHOWN = r"turn (\d+) "


@pytest.mark.timeout(300)
@pytest.mark.slow
def test_a_terminal_gets_a_pace_and_keys(tmp_path: Path) -> None:
    with TerminalProgram(*GAME, "--rounds", "60", "--limit-ms", "1000", folder=tmp_path) as terminal:
        terminal.until(r"1 rounds/s  space pause")
        terminal.until(SHOWN)
        terminal.press("-")
        terminal.until(r"0\.5 rounds/s")
        terminal.press(" ")
        terminal.until(r"paused  space go on")
        time.sleep(1.2)  # longer than a move may take
        terminal.press("++++++")  # if it did not pause, it would be over soon
        first = turn = int(terminal.until(SHOWN)[1])
        for key, plies in [("n", 1)] * 7 + [("\x1b[B", 4)]:
            terminal.press(key)
            before = turn
            while turn < before + plies:
                turn = int(terminal.until(SHOWN)[1])
        assert turn <= first + 12
        terminal.press("e")
        terminal.until(r"turn 240  finished")
        terminal.until(r"seed (came|tied for) \w+ with")
        terminal.until(r"votes of turn 236: ")
        terminal.until(r"sum ")
        terminal.until(r"game 1: finished: seed came")
        terminal.until(r"recording: recordings/")
        assert terminal.end() == 0
        assert terminal.is_restored
    turns = recorded(tmp_path).turns
    assert [turn.turn for turn in turns] == list(range(0, 240, 4))
    assert all(turn.ballot.margin_ms > 0 for turn in turns), "a pause made a turn late"


@pytest.mark.slow
def test_the_summary_of_several_games_is_below_the_last_board(tmp_path: Path) -> None:
    with TerminalProgram(*GAME, "--rounds", "3", "--games", "2", "--display", "board", folder=tmp_path) as terminal:
        assert terminal.end() == 0
        below = terminal.text[terminal.text.rindex("sum ") :]
    assert "game 2 of 2: finished" in below
    assert "finished  first  second" in below


@pytest.mark.slow
def test_several_games_show_their_numbers_and_no_board(tmp_path: Path) -> None:
    with TerminalProgram(*GAME, "--rounds", "3", "--games", "2", folder=tmp_path) as terminal:
        assert "trait" not in terminal.until(r"(?s).* game 2 of 2.*game 2 of 2: finished").group()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["signal", "key"])
def test_the_end_of_a_paused_game_restores_the_terminal(tmp_path: Path, how: str) -> None:
    with TerminalProgram(*GAME, folder=tmp_path) as terminal:
        terminal.until(SHOWN)
        terminal.press(" ")
        terminal.until(r"paused")
        assert not terminal.is_restored
        if how == "signal":
            terminal.process.send_signal(signal.SIGINT)
        else:
            terminal.press("n")
            terminal.until(SHOWN)
            terminal.press("q")
            terminal.until(r"stopping after this turn")
        terminal.until(r"interrupted: nothing that was played is lost")
        assert terminal.end() == 130
        assert terminal.is_restored
    assert recorded(tmp_path).outcome.reason == "interrupted"


@pytest.mark.slow
def test_without_a_keyboard_there_are_no_keys(tmp_path: Path) -> None:
    with TerminalProgram(*GAME, "--rounds", "2", folder=tmp_path, keyboard=False) as terminal:
        before = terminal.until(r"turn 8  finished")
        assert "space pause" not in before.string
        assert terminal.end() == 0
        assert terminal.is_restored


@pytest.mark.slow
def test_ctrl_z_stops_between_two_moves_and_the_game_goes_on(tmp_path: Path) -> None:
    words = (*GAME, "--rounds", "40", "--limit-ms", "200", "--config", "margin.toml")
    (tmp_path / "margin.toml").write_text("[time]\nmargin_ms = 20\n")
    with TerminalProgram(*words, folder=tmp_path, shell=True) as terminal:
        terminal.until(SHOWN)
        for _ in range(2):
            terminal.press("\x1a")
            assert terminal.report() == {"stopped": True, "echo": True}
            terminal.go_on()
            terminal.press(" ")
            terminal.until(r"paused  space go on")
            terminal.press(" ")
            terminal.until(r"rounds/s  space pause")
        terminal.press("e")
        terminal.until(r"turn 160  finished")
        assert terminal.report() == {"stopped": False, "echo": True}
        assert terminal.end() == 0
    turns = recorded(tmp_path).turns
    assert [turn.turn for turn in turns] == list(range(0, 160, 4)), "the stop lost a turn"
    assert all(turn.ballot.margin_ms > 0 for turn in turns), "the stop made a turn late"


# ---- In the browser ----


@pytest.mark.slow
async def test_the_browser_sees_each_ply_from_the_first_one_on(tmp_path: Path) -> None:
    async with opened(tmp_path, *GAME, "--rounds", "4", "--against", "stay") as (process, page):
        async with httpx.AsyncClient(timeout=60) as client, client.stream("GET", page.replace("/game/", "/plies/")) as answer:
            text = "".join([piece async for piece in answer.aiter_text()])
        out = await ended(process)
    assert process.returncode == 0, out
    assert "the game begins as soon as its page is open" in out
    patches = [json.loads(line) for line in re.findall(r"^data: (.*)$", text, re.MULTILINE)]
    assert patches[0]["plies"] == [], "the first state"
    assert {len(patch["plies"]) for patch in patches} == {0, 1}, "one ply at a time"
    plies = [ply for patch in patches for ply in patch["plies"]]
    assert [ply["t"] for ply in plies] == list(range(1, 17))
    assert [turn["ply"] for patch in patches for turn in patch.get("why", [])] == [0, 4, 8, 12]
    assert patches[-1]["ending"]["kind"] == "finished"
