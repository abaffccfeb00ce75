"""SearchInfo: its plain form, its errors, and its way from the trait to the recording."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from behaviours.base import LONGEST_PV, SearchInfo, View, VoteError, plain_info, plain_votes
from sim.game import EAST, NORTH, SOUTH, WEST, square
from tests.support.paths import BOTS
from tests.support.pools import STAY, game, pool_of, records, trait
from tests.support.recorded import HEADER, raw, record, states_of
from vindibot.config.bots import make_importable
from vindibot.engine.agent import Voters
from vindibot.engine.inline import Inline
from vindibot.engine.runner import Vote, parse_answer
from vindibot.engine.worker import TraitPlan, WorkerMemory
from vindibot.games.ballot import Ballot, BallotEntry, VoteLine, write_entry
from vindibot.games.files.recording import Recorder, RecordingError, read_recording
from vindibot.testing import search_info, view, votes

GOAL = square(3, 5)
WHOLE = SearchInfo({NORTH: 1}, depth=9, score=-12.5, nodes=81234, pv=(NORTH, EAST, 0, SOUTH, WEST), goal=GOAL)
PLAIN_VOTES = (0.0, 1.0, 0.0, 0.0, 0.0)


def test_search_info_is_brought_into_one_form() -> None:
    plain = plain_info(WHOLE)
    assert plain == SearchInfo(PLAIN_VOTES, 9, -12.5, 81234, (1, 3, 0, 2, 4), GOAL)
    assert plain_info(plain) == plain
    arrays = SearchInfo(np.eye(5)[1], np.int32(9), np.float32(-12.5), np.int64(81234), np.array([1, 3, 0, 2, 4]), np.int16(GOAL))
    assert plain_info(arrays) == plain
    assert plain_votes(WHOLE) == plain_votes(arrays) == PLAIN_VOTES
    assert plain_info(SearchInfo(None)) == SearchInfo(None)
    assert plain_votes(SearchInfo(None, depth=3)) is None
    assert plain_info(1) is None
    long = plain_info(SearchInfo(0, pv=[1, 2] * 40))
    assert long is not None
    assert long.pv == (1, 2) * (LONGEST_PV // 2), "a long one is cut off"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"votes": [0.0, float("nan"), 0, 0, 0]}, "a vote of nan is not finite"),
        ({"votes": SearchInfo(1)}, "a SearchInfo themselves"),
        ({"depth": -1}, "depth of a SearchInfo must be a whole number from 0, not -1"),
        ({"nodes": 2**63}, "nodes"),
        ({"score": float("inf")}, "a score of inf is not finite"),
        ({"score": "good"}, "no number"),
        ({"pv": (1, 7)}, "7 is no direction"),
        ({"pv": "NE"}, "a sequence of directions"),
        ({"goal": (3, 4)}, "goal"),
    ],
)
def test_a_wrong_field_raises_an_error_that_names_it(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(VoteError, match=message):
        plain_info(SearchInfo(**{"votes": 1, **fields}))


# ---- From the trait to the ballot, to the file, and back ----


@asynccontextmanager
async def asked(in_process: bool, *plans: TraitPlan) -> AsyncIterator[Voters]:
    """Those traits of tests/bots, in worker processes or in this one."""
    if not in_process:
        async with pool_of(*plans, workers=1) as pool:
            yield pool
        return
    health_records = records(plans)
    inline = Inline([plan.build() for plan in plans], health_records)
    await inline.start()
    try:
        yield inline
    finally:
        await inline.close()


async def ask(voters: Voters) -> list[BallotEntry]:
    return await voters.ask(View(game(4), 0, recent=game()[:0], seed=1), deadline=time.monotonic() + 30.0)


IN_PROCESS = pytest.mark.parametrize("in_process", [False, True], ids=["pool", "inline"])


@IN_PROCESS
async def test_search_info_comes_through_and_the_latest_counts(in_process: bool) -> None:
    said = [trait("Guesses", what=what) for what in ("empty", "zeros", "silent")]
    async with asked(in_process, trait("Thinks"), trait("Thinks", steps=18), trait("Thinks", steps=0), *said) as voters:
        short, long, none, empty, zeros, silent = await ask(voters)
    votes = (0.0, 0.0, 0.0, 0.3, 0.0)
    assert (short.votes, short.info) == (list(votes), SearchInfo(votes, 3, -1.5, 1000, (3, 3, 3), square(3, 2)))
    assert long.info == SearchInfo((0.0, 0.0, 0.0, 1.8, 0.0), 18, -9.0, 10**18, (3,) * 18, square(18, 2))
    assert (none.votes, none.info) == (None, None)
    assert (empty.votes, empty.info) == ([0, 0, 1, 0, 0], None), "votes alone have no SearchInfo"
    assert zeros.info == SearchInfo((0.0, 0.0, 1.0, 0.0, 0.0), 0, 0.0, 0, (), square(0, 0)), "a zero is not nothing"
    assert (silent.votes, silent.info) == (None, SearchInfo(None, score=3.5))
    assert [entry.status for entry in (short, long, none, empty, zeros, silent)] == ["ok"] * 6


@IN_PROCESS
async def test_wrong_search_info_is_void_and_named(in_process: bool) -> None:
    bad = [trait("Guesses", what=what) for what in ("text", "score", "line")]
    async with asked(in_process, *bad, trait("Thinks", wrong=True)) as voters:
        entries = await ask(voters)
    assert [entry.status for entry in entries] == ["void"] * 4
    notes = ("a vote is a direction", "a score of nan", "9 is no direction", "depth of a SearchInfo")
    for entry, note in zip(entries, notes, strict=True):
        assert note in entry.note
    assert [entry.info for entry in entries[:3]] == [None] * 3


directions = st.integers(0, 4)
weights = st.floats(-1e9, 1e9)
infos = st.builds(
    SearchInfo,
    st.none() | st.tuples(weights, weights, weights, weights, weights),
    depth=st.none() | st.integers(0, 2**31 - 1),
    score=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    nodes=st.none() | st.integers(0, 2**63 - 1),
    pv=st.lists(directions, max_size=LONGEST_PV).map(tuple),
    goal=st.none() | st.builds(square, st.integers(0, 27), st.integers(0, 27)),
)


@given(infos)
def test_every_search_info_comes_through_a_slot_and_a_file(info: SearchInfo) -> None:
    assert plain_info(info) == info
    votes, said = parse_answer(info)
    memory = WorkerMemory(bytearray(WorkerMemory.size(1)))
    memory.put(1, Vote(0, votes, 1.5, True, info=said))
    vote = memory.get(1, 0)
    assert vote == Vote(0, votes, 1.5, True, info=said)
    before = BallotEntry("search", 2.0, None if votes is None else list(votes), 1.5, info=said)
    assert VoteLine.model_validate(json.loads(json.dumps(write_entry(before)))).entry() == before


def test_a_recording_holds_what_is_set(tmp_path: Path) -> None:
    states = states_of(1, plies=8)
    entries = [
        BallotEntry("search", 1.0, list(PLAIN_VOTES), 2.5, info=plain_info(WHOLE)),
        BallotEntry("goal", 1.0, list(PLAIN_VOTES), 2.5, info=SearchInfo(PLAIN_VOTES, goal=GOAL)),
        BallotEntry("plain", 1.0, list(PLAIN_VOTES), 2.5),
    ]
    with Recorder(tmp_path, HEADER) as recorder:
        recorder.turn(raw(states[0]), Ballot(entries))
    assert recorder.path is not None
    line = json.loads(recorder.path.read_text().splitlines()[1])
    plain = {"label": "plain", "weight": 1.0, "votes": list(PLAIN_VOTES), "ms": 2.5, "status": "ok", "note": ""}
    told = {"depth": 9, "score": -12.5, "nodes": 81234, "pv": "NE.SW", "goal": [3, 5]}
    assert line["votes"] == [plain | {"label": "search"} | told, plain | {"label": "goal", "goal": [3, 5]}, plain]
    (own,) = read_recording(recorder.path).turns
    assert own.ballot.entries == entries


@pytest.mark.parametrize("wrong", [{"pv": "NX"}, {"pv": "N\n"}, {"goal": [28, 0]}, {"depth": -1}, {"pv": "N" * 25}])
def test_a_wrong_search_info_in_a_recording_raises_an_error(tmp_path: Path, wrong: dict[str, Any]) -> None:
    path = record(tmp_path, states_of(1, plies=8), 1).path
    lines = path.read_text().splitlines()
    line = json.loads(lines[1])
    line["votes"][0] |= wrong
    lines[1] = json.dumps(line)
    path.write_text("\n".join(lines))
    with pytest.raises(RecordingError, match=f"line 2: votes.0.{next(iter(wrong))}"):
        read_recording(path)


def test_a_test_may_read_the_search_info() -> None:
    here = view(game(), me=0)
    make_importable([str(BOTS)])
    deep = search_info(trait("Thinks", steps=5).build(), here)
    assert (deep.depth, deep.pv, deep.goal) == (5, (0,) * 5, square(5, 2))
    assert votes(trait("Thinks", steps=5).build(), here).tolist() == [0, 0, 0, 0.5, 0]
    assert search_info(STAY.build(), here) == SearchInfo((1.0, 0.0, 0.0, 0.0, 0.0))
    assert search_info(trait("Thinks", steps=0).build(), here) == SearchInfo(None)
