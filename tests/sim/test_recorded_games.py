"""Recorded games of the original server: every state follows by our rules."""

from __future__ import annotations

import pytest

from tests.support.oracle import check_game, read_games
from tests.support.worlds import ORACLE, SAMPLE
from vindibot.games.protocol import ProtocolError


def test_the_sample() -> None:
    states, skipped = [], []
    for game in read_games(SAMPLE):
        try:
            states.append(check_game(game))
        except ProtocolError as problem:
            skipped.append(problem.message)
    assert (len(states), sum(states)) == (17, 2838)
    (reason,) = skipped
    assert reason.endswith("a square board of size 7 has 98 characters, not 112")


@pytest.mark.skipif(not ORACLE.is_dir(), reason="all the recorded games are not at hand; the sample has been checked")
def test_all_recorded_games() -> None:
    games = states = skipped = 0
    for path in sorted(ORACLE.glob("*.jsonl.gz")):
        for game in read_games(path):
            try:
                states += check_game(game)
                games += 1
            except ProtocolError:
                skipped += 1
    assert (games, states, skipped) == (65, 27218, 2)


@pytest.mark.parametrize("place", range(4))
def test_a_difference_is_found(place: int) -> None:
    game = next(game for game in read_games(SAMPLE) if game["id"].endswith("scenario-0515"))
    state = game["states"][9]
    state[place] = [state[0] + 1, not state[1], state[2].replace("  ", "##", 1), state[3][::-1]][place]
    with pytest.raises(AssertionError, match="scenario-0515, ply 9"):
        check_game(game)
