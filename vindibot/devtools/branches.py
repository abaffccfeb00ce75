"""The top of a search tree, node by node. A search in Python stores the top nodes; the compiled kernel searches below them.

Moves, windows and scores are equal to those of `behaviours.search.engine`. The order of moves is simpler than there: the best
move of the previous depth, then North, East, South, West, Stay. So other branches may be cut off than in the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from behaviours.base import View
from behaviours.common.evaluation import Weights, compiled_weights
from behaviours.common.map_tables import map_tables_of
from behaviours.common.policy import policy
from behaviours.search.deepening import SearchParams, borrowed
from behaviours.search.engine import search_below
from behaviours.search.records import BEST_REPLY, BEST_REPLY_PLUS, INFINITE, PARANOID
from sim.game import RUNNING, STAY, UNDO, copy_of
from sim.rules import effective_moves, step_back, step_saving

#: The order in which moves are searched, after the best move of the previous depth.
_ORDER = (1, 3, 2, 4, 0)
#: Kinds of scores: the exact value; an upper bound; a lower bound (the rest of the branch was cut off).
EXACT, UPPER, LOWER = "", "≤", "≥"


@dataclass
class Node:
    """A position of the tree.

    - `number`: number of the node from 1, depth first.
    - `hero`: the hero to move (0..3). `move`: the move that led here, None at the root.
    - `score`: the value for our hero in hundredths of gold. `bound`: the kind of the score (`EXACT`, `UPPER`, `LOWER`).
    - `nodes`: the number of positions searched from here on.
    - `children`: the next nodes, in the order of the search. `cut`: the moves that were cut off. Both are empty in the last
      shown ply.
    - `over`: whether the game has ended. `expected`: whether the node is in the principal variation.
    """

    hero: int
    move: int | None
    score: int
    bound: str
    nodes: int
    children: list[Node] = field(default_factory=list)
    cut: tuple[int, ...] = ()
    over: bool = False
    expected: bool = False
    number: int = 0

    def walk(self) -> Iterator[Node]:
        """Yield this node and all nodes below it, depth first."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class SearchTree:
    """The tree of a search of `depth` plies; `root` holds its first `top` plies."""

    root: Node
    params: SearchParams
    depth: int
    top: int


def build_tree(view: View, params: SearchParams, weights: Weights, depth: int, top: int) -> SearchTree:
    """Return the first `top` plies of the tree of a search of `depth` plies (at least 1). All smaller depths are searched first.

    The game must be running, with ``params.me`` to move. Equal arguments give equal trees. The view does not change.
    """
    builder = _TreeBuilder(view, params, weights)
    root = [builder.root(plies, top) for plies in range(1, depth + 1)][-1]
    node: Node | None = root
    while node is not None:
        node.expected = True
        best = max if node.hero == params.me else min
        exact = [child for child in node.children if child.bound == EXACT]
        node = best(exact, key=lambda child: child.score, default=None)
    for number, node in enumerate(root.walk(), 1):
        node.number = number
    return SearchTree(root, params, depth, top)


class _TreeBuilder:
    """A search of one position. For each position of the tree it stores the best move, which the next depth searches first."""

    def __init__(self, view: View, params: SearchParams, weights: Weights) -> None:
        self._games = copy_of(view.games)
        self._params = params
        self._tables, self._weights = map_tables_of(view.map), compiled_weights(weights)
        self._undos = np.zeros(64, UNDO)
        self._path: list[int] = []
        self._best: dict[tuple[int, ...], int] = {}
        self._stop = np.zeros(1, np.int64)
        self._searched = 0  # positions
        self._deaths = 0  # of our hero, on the path from the root

    def root(self, depth: int, top: int) -> Node:
        """Return the tree of a search of `depth` plies.

        The alpha-beta window of each direction begins at `SearchParams.clip` below the best score so far.
        """
        me, before = self._params.me, self._searched
        with borrowed() as self._work:
            self._work.begin(self._params)
            self._work.task["limit"] = 1 << 60
            self._searched += 1
            children: list[Node] = []
            for move in self._moves(me, STAY, chooses=True):
                best = max((child.score for child in children), default=-INFINITE)
                alpha = max(best - self._params.clip, -INFINITE)
                children.append(self._child(move, depth - 1, top - 1, alpha, INFINITE, deviated=False))
            best = max(child.score for child in children)
            self._best[()] = next(child.move for child in children if child.score == best) or STAY
        return Node(me, None, best, EXACT, self._searched - before, children)

    def _child(self, move: int, left: int, top: int, alpha: int, beta: int, *, deviated: bool) -> Node:
        """Return the node after a move, with `left` more plies to search."""
        assert step_saving(self._games, 0, move, self._undos, len(self._path))
        died = int(self._undos["deaths"].item(len(self._path))) >> self._params.me & 1
        self._path.append(move)
        self._deaths += died
        node = self._node(left, top, alpha, beta, deviated=deviated)
        self._deaths -= died
        node.move = move
        self._path.pop()
        step_back(self._games, 0, self._undos, len(self._path))
        return node

    def _node(self, left: int, top: int, alpha: int, beta: int, *, deviated: bool) -> Node:
        before = self._searched
        hero = int(self._games["turn"].item(0)) & 3
        over = self._games["status"].item(0) != RUNNING
        if top <= 0 or left == 0 or over:
            score = self._below(left, alpha, beta, deviated=deviated)
            return Node(hero, None, score, _bound(score, alpha, beta), self._searched - before, over=over)
        self._searched += 1
        mine, active = hero == self._params.me, bool(self._params.active >> hero & 1)
        chooses = mine or (active and not deviated)
        usual = self._usual_move(hero, chooses=chooses)
        low, high = alpha, beta
        score = -INFINITE if mine else INFINITE
        children: list[Node] = []
        moves = self._moves(hero, usual, chooses=chooses)
        for move in moves:
            deviates = not mine and not self._resets_deviation(hero) and (deviated or (active and move != usual))
            child = self._child(move, left - 1, top - 1, low, high, deviated=deviates)
            children.append(child)
            if (child.score > score) if mine else (child.score < score):
                score = child.score
                self._best[tuple(self._path)] = move
            low, high = (max(low, score), high) if mine else (low, min(high, score))
            if low >= high:
                break
        cut = tuple(moves[len(children) :])
        return Node(hero, None, score, _bound(score, alpha, beta), self._searched - before, children, cut)

    def _usual_move(self, hero: int, *, chooses: bool) -> int:
        """Return the usual move of a hero: `STAY` for our hero and in modes that require it, else the move of the cheap policy.

        All other moves of opponents are deviations. `chooses` says whether the hero chooses freely among its moves.
        """
        active = bool(self._params.active >> hero & 1)
        if hero == self._params.me or (self._params.mode == BEST_REPLY and active):
            return STAY
        if chooses and self._params.mode != BEST_REPLY_PLUS:
            return STAY
        return int(policy(self._games, 0, hero, self._tables))

    def _resets_deviation(self, hero: int) -> bool:
        """Return whether the search forgets earlier deviations after this hero's ply.

        It does if our ply is next, or if all opponents choose freely.
        """
        return self._params.mode == PARANOID or (hero + 1) & 3 == self._params.me

    def _moves(self, hero: int, usual: int, *, chooses: bool) -> list[int]:
        """Return the moves of a hero to search, the best move of the previous depth first.

        If the hero does not choose freely (`chooses` is false), return only its `usual` move.
        """
        if not chooses:
            return [usual]
        mask = effective_moves(self._games, 0, hero)
        first = self._best.get(tuple(self._path))
        return sorted((move for move in _ORDER if mask >> move & 1), key=lambda move: move != first)

    def _below(self, left: int, alpha: int, beta: int, *, deviated: bool) -> int:
        """Return the score of this position, searched `left` more plies by the kernel.

        The kernel does not know deviations, so this method itself makes the plies after a deviation.
        """
        hero = int(self._games["turn"].item(0)) & 3
        if deviated and left and self._games["status"].item(0) == RUNNING:
            self._searched += 1
            usual = self._usual_move(hero, chooses=False)
            return self._child(usual, left - 1, 0, alpha, beta, deviated=not self._resets_deviation(hero)).score
        work, penalty = self._work, self._deaths * self._params.death
        before = int(work.task["nodes"])
        window = alpha + penalty, beta + penalty
        score = search_below(self._games, self._tables, self._weights, work.works, self._stop, -1, left, window)
        self._searched += int(work.task["nodes"]) - before
        return int(score) - penalty


def _bound(score: int, alpha: int, beta: int) -> str:
    return UPPER if score <= alpha else LOWER if score >= beta else EXACT
