"""How games end: the words of the documents, and what a last state says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sim.game import ALL_CRASHED, RUNNING, TURN_MAX
from vindibot.games.outcome import Outcome, Reason, reason_of, result_text, status_of

DOCUMENT = Path(__file__).parents[2] / "docs" / "recordings.md"


def test_the_documents_list_every_reason() -> None:
    _, _, table = DOCUMENT.read_text().partition("## How a game ends")
    assert re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE) == list(Reason)


def test_the_last_state_gives_the_reason_of_the_end() -> None:
    assert [status_of(reason_of(status)) for status in (RUNNING, ALL_CRASHED, TURN_MAX)] == [RUNNING, ALL_CRASHED, TURN_MAX]
    early = set(Reason) - {Reason.FINISHED, Reason.ALL_CRASHED}
    assert {status_of(reason) for reason in early} == {RUNNING}, "a game that ended early still runs in its last state"


@pytest.mark.parametrize(
    ("reason", "code"), [(Reason.FINISHED, 0), (Reason.LEAGUE_OVER, 0), (Reason.INTERRUPTED, 130), (Reason.TIMEOUT, 1)]
)
def test_exit_codes(reason: Reason, code: int) -> None:
    assert Outcome(reason).exit_code == code


def test_a_result_in_words_says_who_shares_its_place() -> None:
    assert result_text("a", 5, [("b", 3), ("c", 3), ("d", 9)]) == "a came second with 5 gold (d 9, b 3, c 3)"
    assert result_text("a", 3, [("b", 3), ("c", 5), ("d", 9)]) == "a tied for third with 3 gold (d 9, c 5, b 3)"
