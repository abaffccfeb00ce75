"""Kinds of bad moves: what was wrong with a move, by rules over the playouts after the played move and after the best move.

docs/review.md states every rule. The rules look at the first 12 rounds of some playouts of each line, and at the squares where
the hero stood before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behaviours.base import View
from sim.events import DRANK, INHERITED, STRUCK, TOOK_MINE
from sim.game import BEER_COST, BLOW, MAX_LIFE, MINE, OFFSET, STAY, STRIDE, TAVERN, TILE_BITS, Games
from sim.replay import events_of
from vindibot.games import LONGEST_LINE, Kind

#: Number of playouts of each line that the rules look at.
PLAYOUTS = 24
#: A fight: the played line has this much more deaths per playout, or this much more life lost by blows, than the best line.
FIGHT_DEATHS, FIGHT_LIFE = 0.15, 15.0
#: The best line drinks at least this number of rounds earlier than the played line.
DRINK_ROUNDS = 2.0
#: The best line takes its first mine at least this number of rounds earlier than the played line.
MINE_ROUNDS = 1.5
#: A hero is stalled if all its squares of this number of rounds fit into an area of this number of squares per side, and it
#: neither took a mine nor drank.
STALL_ROUNDS, STALL_SIDE = 12, 3
#: The round of an event that does not happen.
_NEVER = LONGEST_LINE / 4


@dataclass(frozen=True)
class LineFacts:
    """Means over the playouts of one line: our deaths, our life lost by blows, the rounds (from 0) of our first drink and mine.

    A round of 12 means: no drink, or no mine, within 12 rounds.
    """

    deaths: float
    blows: float
    drink: float
    mine: float


def facts_of(games: Games, me: int, lines: NDArray[np.int8]) -> LineFacts:
    """Return the facts of a line. It begins in the position `games`. `lines` are moves of playouts: int8[playouts, plies]."""
    rows = np.array([_facts(games, me, line) for line in lines])
    return LineFacts(*rows.mean(axis=0).tolist())


def _facts(games: Games, me: int, line: NDArray[np.int8]) -> tuple[float, float, float, float]:
    events, ends = events_of(games, bytes(line[line >= 0].tolist()))
    kind, hero, other = events["kind"], events["hero"], events["other"]

    def first(mask: NDArray[np.bool_]) -> float:
        places = np.flatnonzero(mask)
        return float(np.searchsorted(ends, places[0], side="right") // 4) if len(places) else _NEVER

    deaths = np.count_nonzero((kind == INHERITED) & (hero == me))
    blows = BLOW * np.count_nonzero((kind == STRUCK) & (other == me))
    return float(deaths), float(blows), first((kind == DRANK) & (hero == me)), first((kind == TOOK_MINE) & (hero == me))


def kind_of_move(view: View, played: int, best: int, played_facts: LineFacts, best_facts: LineFacts) -> Kind:
    """Return what was wrong with the move `played` (0..4), if `best` was the best move. The first rule that applies counts."""
    tavern, mine = _at_tavern(view), _tile(view, best) >= MINE
    danger = played_facts.deaths - best_facts.deaths >= FIGHT_DEATHS or played_facts.blows - best_facts.blows >= FIGHT_LIFE
    drinks_earlier = played_facts.drink - best_facts.drink >= DRINK_ROUNDS
    if tavern and played != STAY and _tile(view, played) != TAVERN and (best == STAY or _tile(view, best) == TAVERN):
        return "left a tavern open"
    if _tile(view, best) == TAVERN:
        return "drank too late"
    if danger and played != STAY:
        return "walked into a fight"
    if drinks_earlier and view.life <= MAX_LIFE - BLOW and not mine:
        return "drank too late"
    if best != STAY and is_stalled(view.recent["hero"]["pos"][:, view.me].tolist(), view):
        return "stalled"
    if played == STAY:
        return "stood still"
    if mine or played_facts.mine - best_facts.mine >= MINE_ROUNDS:
        return "passed by a mine"
    return ""


def is_stalled(squares: Sequence[int], view: View) -> bool:
    """Return whether the hero stayed within a small area for the last `STALL_ROUNDS` rounds without a mine or a drink.

    `squares` are its squares on its last turns, oldest first.
    """
    last = [*squares, view.pos][-STALL_ROUNDS:]
    if len(last) < STALL_ROUNDS:
        return False
    own = view.recent["hero"][:, view.me][1 - STALL_ROUNDS :]
    mines, life = [*own["mines"].tolist(), view.mines], [*own["life"].tolist(), view.life]
    gains = (np.diff(mines) > 0) | (np.diff(life) > 0)
    places = np.stack(np.divmod(last, STRIDE), axis=1)
    return bool((np.ptp(places, axis=0) < STALL_SIDE).all()) and not gains.any()


def _tile(view: View, move: int) -> int:
    """Return the tile on the square toward which a move goes."""
    return int(view.cells[view.pos + int(OFFSET[move])]) & TILE_BITS if move != STAY else 0


def _at_tavern(view: View) -> bool:
    """Return whether our hero stands beside a tavern and can pay a beer."""
    return view.gold >= BEER_COST and any(_tile(view, move) == TAVERN for move in range(1, 5))
