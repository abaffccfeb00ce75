"""What traits say and mark reaches the ballot, within limits, from processes and from this process."""

from __future__ import annotations

import pytest

from behaviours import Behaviour, View, VoteError
from behaviours.notes import LONGEST_NOTE, MOST_NOTES, Note, Notes
from sim.game import square
from tests.bots.speaking_traits import SCRIPT, MarksOutside, Speaks, SpeaksThenRaises, ThinksAloud
from tests.support.pools import ask, game, pool_of
from vindibot.engine.agent import Agent
from vindibot.engine.health import TraitHealth
from vindibot.engine.inline import Inline
from vindibot.engine.worker import TraitPlan
from vindibot.games.notes import MOST_IN_GAME, NO_MORE

HERE = square(0, 0)
SAID = (Note(SCRIPT), Note("life 100", HERE))


def plan(name: str, **parameters: object) -> TraitPlan:
    return TraitPlan(f"speaking_traits:{name}", parameters)


async def test_what_traits_say_comes_with_their_votes_from_the_processes() -> None:
    plans = [plan("Speaks"), plan("SpeaksThenRaises"), plan("MarksOutside"), plan("ThinksAloud"), plan("Speaks", count=0)]
    async with pool_of(*plans) as pool:
        entries = await ask(pool, seconds=20.0)
    assert [entry.status for entry in entries] == ["ok", "error", "void", "ok", "ok"]
    assert [entry.notes for entry in entries] == [
        SAID,
        (Note("about to fail"),),
        (),
        (Note("step 0"), Note("step 1"), Note("step 2")),
        (),
    ]


@pytest.mark.slow_faults
async def test_the_notes_of_a_trait_that_hangs_at_the_deadline_are_those_of_its_last_answer() -> None:
    async with pool_of(plan("ThinksAloud", hang=True), grace=0.1) as pool:
        (entry,) = await ask(pool, seconds=1.0)
    assert entry.votes == [3, 0, 0, 0, 0]
    assert entry.notes[-1] == Note("step 2")


def agent_of(*traits: Behaviour) -> Agent:
    return Agent(Inline(traits, [TraitHealth.of(type(one).__name__, 1.0, one) for one in traits]), 0, 1)


def test_traits_in_this_process_say_the_same() -> None:
    ballot = agent_of(Speaks(), SpeaksThenRaises(), MarksOutside(), ThinksAloud()).decide_now(game())
    assert [entry.notes[:1] for entry in ballot.entries] == [SAID[:1], (Note("about to fail"),), (), (Note("step 0"),)]


def test_an_agent_keeps_the_notes_of_a_whole_game_only_up_to_the_limit() -> None:
    agent = agent_of(Speaks(count=8))
    said = [agent.decide_now(game(4 * turn)).entries[0].notes for turn in range(MOST_IN_GAME // 16 + 3)]
    assert sum(len(notes) for notes in said) == MOST_IN_GAME + 1
    assert [notes[-1:] for notes in said[-3:]] == [(Note(NO_MORE),), (), ()]


def test_the_limits_of_a_turn() -> None:
    notes = Notes()
    notes.add("x" * (LONGEST_NOTE + 1))
    notes.add("two\nlines\x00\ud800")
    for number in range(MOST_NOTES):
        notes.add(number)
    first, second, *_, last = notes.taken()
    assert len(notes.taken()) == MOST_NOTES + 1
    assert (len(first.text), first.text[-1]) == (LONGEST_NOTE, "…")
    assert second.text == "two lines\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"
    assert last.text == "… 2 more notes are left out"


@pytest.mark.parametrize("where", [-1, 0, square(0, 6), square(5, 0), 10**9, 1.5, "a"])
def test_a_mark_off_the_board_is_an_error(where: object) -> None:
    view = View(game(), 0)
    with pytest.raises(VoteError):
        view.mark(where)
    assert view.notes.taken() == ()


async def test_the_longest_notes_fit_into_the_memory_of_a_worker() -> None:
    text = "\N{SNOWMAN WITHOUT SNOW}\N{WOLF FACE}" * 200
    async with pool_of(plan("Speaks", text=text, count=MOST_NOTES)) as pool:
        (entry,) = await ask(pool, seconds=20.0)
    assert len(entry.notes) == MOST_NOTES + 1
