"""For tests of traits: a view from a drawn board or a recorded turn, and what a trait says to it.

A test of a trait is three lines::

    def test_a_coward_steps_away() -> None:
        here = view('''
            |  @1@2|
            |  ##  |
        ''')
        assert favourites(Coward(), here) == {WEST}

and on a turn of a recorded game, with the history that the bot had then::

    assert favourites(Coward(), view("recordings/20250131-seed-abcd-hero1.jsonl", turn=212)) == {WEST}

How boards are drawn is said in `sim.board`.

`check_trait` puts a trait through a suite of checks that any trait should pass, on many odd boards; one test for each check::

    @pytest.mark.parametrize("check", CHECKS, ids=str)
    def test_the_coward_keeps_the_rules(check: Check) -> None:
        check(Coward())
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from inspect import isgenerator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behaviours.base import HISTORY, Behaviour, Budget, Thought, View, as_votes, plain_thought, plain_votes
from sim.board import parse
from sim.game import ABSENT, GAME, Games
from vindibot.conformance import CHECKS, Check, ConformanceError, check_trait, check_turn
from vindibot.recording import SUFFIX, Recording, read_recording
from vindibot.trial import MOST_ANSWERS

__all__ = [
    "CHECKS",
    "Check",
    "ConformanceError",
    "check_trait",
    "check_turn",
    "favourites",
    "thought",
    "view",
    "votes",
]

#: The nodes that a view's budget has if none are given: enough to see an idea, and the same on any machine.
NODES = 10_000


def view(
    source: str | os.PathLike[str] | Recording | Games,
    turn: int | None = None,
    *,
    me: int | None = None,
    nodes: int | None = NODES,
    seed: int | None = None,
    history: Sequence[str | Games] = (),
) -> View:
    """What a trait sees, with hero `me` (0..3) to move.

    `source` is a drawn board or a game (an array of one record, which is copied), or a recording or its path (a string that
    ends in ``.jsonl`` is a path). `turn` is the wire's number.

    - A drawn board or a game: without `turn`, its own is moved on until it is the turn of `me`. Without `me`, it is the
      hero whose turn it is, or the next who is on the board. `history` are boards of our turns before, oldest first.
    - A recording: `turn` must be one of those recorded; hero, history and seed are those of the recording.

    The budget has `nodes` nodes (None: no limit). Raises ValueError (`sim.board.BoardError` for the drawing) and
    `vindibot.recording.RecordingError` for what cannot be.
    """
    if isinstance(source, os.PathLike) or (isinstance(source, str) and source.endswith(SUFFIX)):
        source = read_recording(Path(source))
    if isinstance(source, Recording):
        return _recorded(source, turn, me, nodes, seed, history)
    games = parse(source) if isinstance(source, str) else source.copy()
    me = _to_move(games, turn, me)
    before = [parse(board) if isinstance(board, str) else board.copy() for board in history]
    for rounds, board in enumerate(reversed(before), 1):
        board[0]["turn"] = max(me, int(games[0]["turn"]) - 4 * rounds)
    past = np.concatenate(before) if before else np.zeros(0, GAME)
    return View(games, me, history=past, budget=Budget(nodes=nodes), seed=seed or 0)


def votes(behaviour: Behaviour, view: View) -> NDArray[np.float64] | None:
    """What a trait says in the end, before any weight: five votes in the order of the directions, None for no opinion.

    An anytime trait is run until it ends (it should, within the view's budget), or has given `MOST_ANSWERS` answers. Raises
    what the trait raises, and `behaviours.base.VoteError` for an answer that is no vote.
    """
    return as_votes(thought(behaviour, view))


def thought(behaviour: Behaviour, view: View) -> Thought:
    """What a trait says in the end, with what led to it: depth, score, nodes, line and goal where it gives them.

    The votes are five floats in a tuple, or None; a trait that answers with votes alone has a thought with nothing else in
    it. Otherwise as `votes`.
    """
    answer = behaviour.vote(view)
    if not isgenerator(answer):
        return _plain(answer)
    last = Thought(None)
    for better in islice(answer, MOST_ANSWERS):
        last = _plain(better)
    return last


def _plain(answer: Any) -> Thought:
    return plain_thought(answer) or Thought(plain_votes(answer))


def favourites(behaviour: Behaviour, view: View) -> set[int]:
    """The candidates (`View.moves`) that a trait votes highest for; all that tie, and the empty set for no opinion."""
    said = votes(behaviour, view)
    if said is None:
        return set()
    best = max(said[move] for move in view.moves)
    return {move for move in view.moves if said[move] == best}


def _to_move(games: Games, turn: int | None, me: int | None) -> int:
    """Set the turn of a drawn game so that `me` is to move; returns `me`."""
    game = games[0]
    present = [hero for hero in range(4) if game["hero"][hero]["pos"] != ABSENT[hero]]
    now = int(game["turn"]) if turn is None else turn
    if me is None:
        order = [(now + later) % 4 for later in range(4)] if turn is None else [now % 4]
        me = next((hero for hero in order if hero in present), None)
    if me is None or me not in present:
        missing = "nobody who could be to move" if me is None else f"no hero with the index {me} (@{me + 1})"
        raise ValueError(f"there is {missing} on this board")
    if turn is not None and turn % 4 != me:
        raise ValueError(f"turn {turn} is hero {turn % 4 + 1}'s, not hero {me + 1}'s (me={me})")
    now += (me - now) % 4
    if now >= game["max_turns"]:
        raise ValueError(f"turn {now} is past the end: this game has {game['max_turns']} turns")
    game["turn"] = now
    return me


def _recorded(
    recording: Recording, turn: int | None, me: int | None, nodes: int | None, seed: int | None, history: Sequence[str | Games]
) -> View:
    if turn is None:
        raise ValueError("say which turn of the recording: view(recording, turn=...)")
    if me is not None and me != recording.me:
        raise ValueError(f"the recording is hero {recording.header.hero}'s (me={recording.me}); he cannot be changed")
    if len(history):
        raise ValueError("a recording has its own history")
    games = recording.turn(turn).games.copy()
    seed = recording.header.seed if seed is None else seed
    return View(games, recording.me, history=recording.history(turn, HISTORY), budget=Budget(nodes=nodes), seed=seed)
