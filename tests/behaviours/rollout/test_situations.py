"""Situations: the moves stored for them, and a hero whose spawn square an enemy guards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from behaviours import RECENT_TURNS, STAY, Budget, View
from behaviours.common.evaluation import Weights, compiled_weights
from behaviours.rollout.opponents import model_opponents
from behaviours.rollout.policy import PolicyParams, compiled_policies
from behaviours.rollout.repetition import SITUATION_DISTANCE
from behaviours.rollout.trait import Rollout
from sim.game import PLIES_PER_ROUND, Game
from sim.maps import map_of
from tests.support.paths import DATA
from vindibot.config.bots import load_bot
from vindibot.games.history import GameHistory

#: Hero 1 respawns beside a tavern. From round 87 on, hero 4 stands at this tavern and kills hero 1 every six rounds.
GAME = GameHistory.read(DATA / "guarded-spawn.games.jsonl")
#: A round in which hero 1 has just respawned, after the same six rounds had been played several times.
ROUND = 129


def view_of(turn: int, me: int, nodes: int) -> View:
    """Return the view of hero `me` in a round of the game, with its last turns."""
    turns = [GAME.state(PLIES_PER_ROUND * number + me) for number in range(max(0, turn - RECENT_TURNS), turn + 1)]
    return View(turns[-1].copy(), me, recent=np.concatenate(turns[:-1]), budget=Budget(nodes=nodes))


def described(game: Game, hero: int) -> tuple[Any, ...] | None:
    """Return the situation of a hero as a tuple, or None: a second way to compute `situation_of`."""
    heroes, steps = game.hero, map_of(np.array([game])).distances
    parts = [
        (int(heroes[each].pos), -(-int(heroes[each].life) // 20))
        if each == hero or steps[heroes[hero].pos, heroes[each].pos] <= SITUATION_DISTANCE
        else (0, 0)
        for each in [(hero + step) % 4 for step in range(4)]
    ]
    return None if parts[1:] == [(0, 0)] * 3 else tuple(parts)


@pytest.mark.parametrize("turn", [40, 129, 280])
def test_the_last_move_of_each_situation_is_stored(turn: int) -> None:
    view = view_of(turn, 0, 1)
    policies = compiled_policies((PolicyParams(), PolicyParams()))
    *_, situations = model_opponents(view, compiled_weights(Weights()), policies, 0.7)
    wanted: list[dict[Any, int]] = [{}, {}, {}, {}]
    for ply in range(PLIES_PER_ROUND * (turn - RECENT_TURNS), PLIES_PER_ROUND * turn):
        hero = ply % PLIES_PER_ROUND
        situation = described(GAME.state(ply)[0], hero)
        if hero and situation:
            wanted[hero].pop(situation, None)
            wanted[hero][situation] = GAME.moves[ply]
    for hero, row in enumerate(situations):
        found = {}
        for entry in row[row > 0].tolist():
            parts = [entry >> 3 + 13 * place & 0x1FFF for place in (3, 2, 1, 0)]
            found[tuple((part >> 3, part & 7) for part in parts)] = entry & 7
        assert found.items() <= wanted[hero].items()
        assert len(found) >= 0.8 * len(wanted[hero])  # two situations may have the same place
    assert not situations[0].any()
    assert any(row.any() for row in situations)


def test_a_hero_leaves_its_guarded_spawn_square_if_it_recalls_what_the_enemy_did() -> None:
    rounds = [GAME.state(PLIES_PER_ROUND * number)["hero"][0, [0, 3]] for number in range(ROUND - RECENT_TURNS, ROUND + 1)]
    played = [heroes[["pos", "life"]].tolist() for heroes in rounds]
    assert played[6:] == played[:-6]
    rollout = next(trait for _, trait in load_bot("versions/strong-2").build() if isinstance(trait, Rollout))
    votes = {}
    for recalled in (False, True):
        *_, info = rollout.model_copy(update={"recalled_moves": recalled}).vote(view_of(ROUND, 0, 100_000))
        votes[recalled] = max(info.votes, key=lambda move: info.votes[move])
    assert votes[False] == STAY != votes[True]


def test_without_recalled_moves_situations_do_not_matter() -> None:
    view = view_of(ROUND, 0, 20_000)
    alone = View(view.games, 0, recent=view.recent[:0], budget=Budget(nodes=20_000))
    plain = Rollout(likelihood_weight=0, rivals=(PolicyParams(),), repetition_penalty=0)
    *_, with_turns = plain.vote(view)
    *_, without_turns = plain.vote(alone)
    assert with_turns.votes == without_turns.votes
    *_, recalled = plain.model_copy(update={"recalled_moves": True}).vote(view)
    assert recalled.votes != with_turns.votes
