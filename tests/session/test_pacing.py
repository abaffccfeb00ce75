"""The pace of a game: how long plies wait, and what keys change."""

from __future__ import annotations

import asyncio

import pytest

from vindibot.config.settings import PlaySettings
from vindibot.session.pacing import FASTEST, GAME_SECONDS, LONGEST_PLY, SLOWEST, GamePace


class Game:
    """A game of plies that only wait for their pace. `played` is their number."""

    def __init__(self, pace: GamePace) -> None:
        self.pace, self.played = pace, 0
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._next()

    def _next(self) -> None:
        self.pace.schedule(self._play, asyncio.get_running_loop().time())

    def _play(self) -> None:
        self.played += 1
        for number, future in self._waiting:
            if self.played >= number and not future.done():
                future.set_result(None)
        self._next()

    async def until(self, played: int) -> None:
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((played, future))
        if self.played < played:
            await future


async def nothing_happens(game: Game) -> None:
    """Wait for ten plies at full speed of another game, and check that this game stands still."""
    before = game.played
    other = GamePace(600)
    other.press("e")
    await Game(other).until(10)
    assert game.played == before


@pytest.mark.parametrize(("rounds", "seconds"), [(300, GAME_SECONDS), (600, GAME_SECONDS), (20, 80 * LONGEST_PLY)])
async def test_a_game_takes_a_minute_and_a_short_one_less(rounds: int, seconds: float) -> None:
    pace = GamePace(rounds)
    pace.begin()
    ply = pace.schedule(lambda: None, 1000.0)
    assert (pace._due(ply) - 1000) * 4 * rounds == pytest.approx(seconds)
    pace.press("+")
    assert (pace._due(ply) - 1000) * 4 * rounds == pytest.approx(seconds / 2)
    ply.cancel()


async def test_keys_pause_step_and_skip() -> None:
    pace = GamePace(600)
    game = Game(pace)
    await nothing_happens(game)
    assert game.played == 0, "nothing is played before it begins"
    pace.press(" ")
    assert not pace.paused, "the first key begins the game"
    await game.until(2)
    pace.press(" ")
    before = game.played
    await nothing_happens(game)
    pace.press("n")
    await game.until(before + 1)
    await nothing_happens(game)
    assert game.played == before + 1
    pace.press("down")
    await game.until(before + 5)
    await nothing_happens(game)
    assert game.played == before + 5, "a round"
    pace.press(" ")
    await game.until(before + 7)
    pace.press("e")
    assert pace.status.startswith("to the end")
    await game.until(before + 2000)
    pace.press(" ")
    assert pace.paused
    before = game.played
    await nothing_happens(game)
    pace.end()
    pace.press(" ")
    assert not pace.paused, "the end does not pause"
    await game.until(before + 100)


def test_speeds_have_limits_and_other_keys_do_nothing() -> None:
    changes: list[str] = []
    left: list[str] = []
    pace = GamePace(300, lambda: changes.append("changed"), lambda: left.append("left"))
    for key in "x\x1b?":
        pace.press(key)
    assert not changes
    for _ in range(20):
        pace.press("+")
    assert pace.speed == FASTEST
    for _ in range(40):
        pace.press("-")
    assert pace.speed == SLOWEST
    assert len(changes) == 60
    pace.press("q")
    assert left
    pace = GamePace(300)
    pace.wait_for("wait for the page")
    assert pace.status.startswith("wait for the page  ")


@pytest.mark.parametrize(
    ("settings", "terminal", "paced"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"open": True}, False, True),
        ({"display": "lines"}, True, True),
        ({"display": "none"}, True, False),
        ({"games": 2}, True, False),
        ({"pace": "none"}, True, False),
        ({"pace": "watch", "games": 2, "display": "none"}, False, True),
        ({"server": "http://127.0.0.1:9", "pace": "watch"}, True, False),
    ],
)
def test_games_that_are_watched_have_a_pace(settings: dict, terminal: bool, paced: bool) -> None:
    assert PlaySettings(**settings).paced(terminal) is paced
