"""Kinds of bad moves: rules that say what was wrong with a move (docs/review.md).

The rules compare two lines: the playouts that begin with the played move, and the playouts that begin with the best move. Of each
line, they use the first 12 rounds of some playouts. One rule also uses the states on the hero's last turns.
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

#: Number of playouts of each line that the rules use.
PLAYOUTS = 24
#: The rule of a fight: after the played move, the hero has at least this many more deaths per playout than after the best move,
#: or loses at least this much more life by blows per playout.
FIGHT_DEATHS, FIGHT_LIFE = 0.15, 15.0
#: The rule of a late drink: after the best move, the hero drinks at least this number of rounds earlier than after the played
#: move.
DRINK_ROUNDS = 2.0
#: The rule of a missed mine: after the best move, the hero takes a mine at least this number of rounds earlier than after the
#: played move.
MINE_ROUNDS = 1.5
#: A hero is stalled if for `STALL_ROUNDS` rounds it stayed in an area of `STALL_SIDE` squares per side, and gained neither a mine
#: nor life.
STALL_ROUNDS, STALL_SIDE = 12, 3
#: The round that counts for a drink or a mine that does not occur within a line.
_NEVER = LONGEST_LINE / 4


@dataclass(frozen=True)
class LineFacts:
    """Means over the playouts of one line, for our hero.

    - `deaths`: the number of deaths. `blows`: the life lost by blows.
    - `drink`, `mine`: the round of the first drink and of the first mine, from 0. A playout without a drink or a mine counts as
      round 12.
    """

    deaths: float
    blows: float
    drink: float
    mine: float


def facts_of(games: Games, me: int, lines: NDArray[np.int8]) -> LineFacts:
    """Return the facts of one line for hero `me` (0..3). `games` is the state in which the line begins.

    `lines` are the moves of the playouts of this line: int8[playouts, plies], -1 after the end of a playout.
    """
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
    """Return what was wrong with the move `played` (0..4): the kind of the first rule that applies, "" if none. `best` is the
    best move."""
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
    """Return whether our hero stayed in a small area for the last `STALL_ROUNDS` rounds and gained neither a mine nor life.

    `squares` are the hero's squares on its last turns, oldest first, without the current turn.
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
    """Return the tile on the square to which a move leads, 0 for Stay."""
    return int(view.cells[view.pos + int(OFFSET[move])]) & TILE_BITS if move != STAY else 0


def _at_tavern(view: View) -> bool:
    """Return whether our hero stands beside a tavern and can pay for a beer."""
    return view.gold >= BEER_COST and any(_tile(view, move) == TAVERN for move in range(1, 5))
