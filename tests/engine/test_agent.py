"""The agent: in time, with a fallback, the same play for the same seed, and a history that outlives its workers."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack

import pytest
from hypothesis import given, strategies as st

from behaviours import RECENT_TURNS, Behaviour, View
from sim.board import parse
from sim.game import EAST, RUNNING, STAY, WEST
from sim.maps import named_map
from sim.rules import step
from tests.support.paths import BOTS
from vindibot.config.bots import load_bot, make_importable
from vindibot.engine.agent import Agent, fallback, voters
from vindibot.engine.deadline import LARGEST_SHARE, Deadline
from vindibot.engine.health import TraitHealth
from vindibot.engine.inline import Inline
from vindibot.games.ballot import Ballot, BallotEntry

#: Seconds for a move in games that are played in process: nobody shall be late.
PLENTY = 30.0


def bad(name: str, **parameters: object) -> Behaviour:
    make_importable([str(BOTS)])
    import bad_traits

    made: Behaviour = getattr(bad_traits, name)(**parameters)
    return made


def inline(*behaviours: Behaviour) -> Inline:
    return Inline(behaviours, [TraitHealth(type(one).__name__, 1.0, hasattr(one, "steps")) for one in behaviours])


def told(ballot: Ballot) -> list[object]:
    """All of a ballot that does not depend on the clock."""
    entries = [(one.label, one.weight, one.votes, one.status, one.note, one.info) for one in ballot.entries]
    return [entries, ballot.sums, ballot.candidates, ballot.direction, ballot.fallback]


@pytest.mark.parametrize("name", ["seed", "searcher"])
async def test_the_ballots_are_the_same_in_the_pool_in_process_and_without_an_event_loop(name: str) -> None:
    bot = load_bot(name)
    async with AsyncExitStack() as stack:
        agents = []
        for in_process in (False, True, True):
            asked = voters(bot, workers=2, in_process=in_process)
            stack.push_async_callback(asked.close)
            await asked.start()
            agents.append(Agent(asked, 0, 7, nodes=300))
        pool, inline_one, now = agents
        games = named_map("m1").new_game(max_turns=4 * 30)
        while games[0]["status"] == RUNNING:
            direction = int(games[0]["turn"]) * 7 % 5
            if games[0]["turn"] % 4 == 0:
                ballots = [await agent.decide(games, time.monotonic(), PLENTY) for agent in (pool, inline_one)]
                ballots.append(now.decide_now(games))
                assert told(ballots[0]) == told(ballots[1]) == told(ballots[2]), games[0]["turn"]
                direction = ballots[2].direction
            step(games, 0, direction)
        with pytest.raises(TypeError, match="without an event loop"):
            pool.decide_now(games)


@pytest.mark.slow_faults
async def test_the_fallback_is_played_when_nobody_answers_in_time() -> None:
    games = parse("@1  $-\n  $1  \n@2@3@4")
    asked = inline(bad("Sleeps", seconds=0.5))
    agent = Agent(asked, 0, 1, Deadline(0.0))
    ballot = await agent.decide(games, time.monotonic(), 0.1)
    assert ballot.fallback
    assert ballot.direction == EAST, "towards the mine that is not ours"
    assert [entry.status for entry in ballot.entries] == ["late"]
    again = await agent.decide(games, time.monotonic(), 0.05)
    assert again.fallback, "the trait still holds the thread"
    await asked.close()


async def test_votes_are_weighted_and_only_what_has_an_effect_is_a_candidate() -> None:
    games = parse("##@1##\n  ##  \n@2@3@4")
    agent = Agent(inline(bad("Answers", what="direction"), bad("Tags")), 0, 1, Deadline(0.0))
    ballot = await agent.decide(games, time.monotonic(), PLENTY)
    assert ballot.candidates == (STAY,)
    assert [entry.status for entry in ballot.entries] == ["void", "ok"]
    assert not ballot.fallback


async def test_the_history_is_kept_by_the_agent() -> None:
    agent, seen = Agent(inline(bad("Remembers")), 0, 1, Deadline(0.0)), []
    turns = range(0, 4 * (5 * RECENT_TURNS + 4), 4)  # longer than the array that keeps them
    for turn in turns:
        games = parse("@1  \n    ")
        games["turn"] = turn
        ballot = await agent.decide(games, time.monotonic(), PLENTY)
        assert ballot.entries[0].votes is not None
        seen.append(ballot.entries[0].votes[0])
    assert seen == [*range(RECENT_TURNS), *[RECENT_TURNS] * (len(turns) - RECENT_TURNS)]
    assert agent.recent["turn"].tolist() == list(turns[-RECENT_TURNS:])


@pytest.mark.parametrize(
    ("board", "expected"),
    [
        ("@1  $-\n      \n      \n@1 life 100", EAST),
        ("@1    \n      \n$-    \n@1 life 21", 2),
        ("[]@1$-\n@1 life 15 gold 2", WEST),
        ("[]@1  \n@1 life 100 gold 9", STAY),
        ("##@1##\n@1 life 100", STAY),
    ],
)
def test_the_fallback_drinks_when_weak_and_mines_else(board: str, expected: int) -> None:
    assert fallback(View(parse(board), 0)) == expected


class Busy(Inline):
    """Voters who come back so many seconds after the deadline, as on a machine that is busy with something else."""

    def __init__(self, *late: float) -> None:
        super().__init__([], [])
        self.late, self.deadlines = list(late), list[float]()

    async def ask(self, view: View, *, deadline: float, nodes: int | None = None) -> list[BallotEntry]:
        self.deadlines.append(deadline)
        until = deadline + self.late.pop(0)
        while time.monotonic() < until:
            time.sleep(0.001)  # noqa: ASYNC251 - the whole process stands still, as when its processor is taken away
        return []


@pytest.mark.slow_faults
async def test_the_margin_learns_from_stolen_time() -> None:
    busy = Busy(0.03, 0.0)
    agent = Agent(busy, 0, 1, Deadline(0.05))
    first, second = [await agent.decide(parse("@1  \n    "), time.monotonic(), 0.3) for _ in range(2)]
    assert first.fallback
    assert first.margin_ms < 50
    assert second.margin_ms > first.margin_ms, "more is kept back after a turn that was late"
    assert busy.deadlines[1] > busy.deadlines[0]


@given(
    st.floats(0.001, 60),
    st.floats(0, 5),
    st.floats(0, 2),
    st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100)), max_size=60),
)
def test_a_deadline_is_never_before_the_state_came_nor_after_the_limit(
    limit: float, margin: float, network: float, past: list[tuple[float, float]]
) -> None:
    keeper = Deadline(margin)
    for deadline, moment in past:
        keeper.decided(deadline, moment)
    received = 1000.0
    deadline = keeper.moment(received, limit, network)
    assert received <= deadline <= received + limit
    assert keeper.reserve(limit) <= LARGEST_SHARE * limit
    assert keeper.reserve(limit) >= min(margin, LARGEST_SHARE * limit)


def test_overruns_are_forgotten() -> None:
    keeper = Deadline(0.05)
    keeper.decided(10.0, 10.2)
    assert keeper.reserve(1.0) > 0.3
    for _ in range(50):
        keeper.decided(10.0, 9.0)
    assert keeper.reserve(1.0) == 0.05
