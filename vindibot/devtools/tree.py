"""``vindibot tree``: show the top of the search tree of a recorded turn, as text and as a Graphviz file.

Every position of the first plies is searched to the same depth, without cut-offs. Below them the kernel of the search is called.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from behaviours.base import View
from behaviours.common.evaluation import UNIT, Weights, compiled_weights
from behaviours.common.map_tables import map_tables_of
from behaviours.common.policy import policy
from behaviours.search.deepening import SearchParams, borrowed
from behaviours.search.engine import search_below
from behaviours.search.records import BEST_REPLY, BEST_REPLY_PLUS, INFINITE, PARANOID
from behaviours.search.trait import Search
from sim.game import DIRECTIONS, RUNNING, STAY, UNDO, copy_of
from sim.rules import effective_moves, step_back, step_saving
from vindibot.base.console import say
from vindibot.base.errors import UsageError
from vindibot.base.text import counted, printable
from vindibot.base.writing import Output
from vindibot.config.bots import Bot
from vindibot.devtools.explanation import heading
from vindibot.devtools.rerun import find_bot, traits_of
from vindibot.engine.warmup import warm
from vindibot.games.files.recorded_turn import choose_turn, view
from vindibot.games.files.recording import read_recording

#: A comment at the beginning of each drawing, which marks the file as ours.
MARK = "made by vindibot tree"
#: Colours of the heroes 1..4 in drawings, and of the principal variation.
_FILLS, _EXPECTED = ("#f6d5c4", "#cfe0f5", "#d5efd2", "#f3e9b5"), "#c0392b"


@dataclass
class Node:
    """A position of the tree.

    - `number`: number of the node from 1, depth first.
    - `hero`: the hero to move (0..3). `move`: the move that led here, None at the root.
    - `score`: the value for our hero in hundredths of gold.
    - `nodes`: the number of positions searched from here on. `children`: the next nodes, empty in the last shown ply.
    - `over`: whether the game has ended. `expected`: whether the node is in the principal variation.
    """

    hero: int
    score: int
    nodes: int
    children: list[Node] = field(default_factory=list)
    over: bool = False
    move: int | None = None
    expected: bool = False
    number: int = 0

    def walk(self) -> Iterator[Node]:
        """Yield this node and all nodes below it, depth first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def __str__(self) -> str:
        """Return the node as text, without its number and without the move that led to it."""
        mover = "the game is over" if self.over else f"@{self.hero + 1} to move"
        return f"{self.score / UNIT:+.2f}, {mover}, {counted(self.nodes, 'position')}"


def build_tree(view: View, params: SearchParams, weights: Weights, depth: int, top: int) -> Node:
    """Return the root of the first `top` plies of a search of `depth` plies (at least 1).

    The game must be running, with ``params.me`` to move. Equal arguments give equal trees. The view does not change.
    """
    root = _TreeBuilder(view, params, weights).build(depth, top)
    for number, node in enumerate(root.walk(), 1):
        node.number = number
    node, root.expected = root, True
    while node.children:
        node = (max if node.hero == params.me else min)(node.children, key=lambda child: child.score)
        node.expected = True
    return root


class _TreeBuilder:
    """A search of one position, as `behaviours.search.engine` searches it."""

    def __init__(self, view: View, params: SearchParams, weights: Weights) -> None:
        self._games, self._params = copy_of(view.games), params
        self._tables, self._weights = map_tables_of(view.map), compiled_weights(weights)
        self._undos, self._stop = np.zeros(64, UNDO), np.zeros(1, np.int64)
        self._ply = self._searched = 0  # plies from the root; number of positions
        self._deaths = 0  # of our hero, on the path from the root

    def build(self, depth: int, top: int) -> Node:
        with borrowed() as self._work:
            self._work.begin(self._params)
            self._work.task["limit"] = 1 << 60
            return self._node(depth, top, deviated=False)

    def _node(self, left: int, top: int, *, deviated: bool) -> Node:
        """Return the node of the present position, with `left` more plies to search. `deviated`: whether an opponent has made
        another move than its usual one."""
        before, params = self._searched, self._params
        hero, over = int(self._games["turn"].item(0)) & 3, self._games["status"].item(0) != RUNNING
        mine, active = hero == params.me, bool(params.active >> hero & 1)
        chooses = mine or (active and not deviated)
        if over or left == 0 or (top <= 0 and not deviated):
            return Node(hero, self._kernel_score(left), self._searched - before, over=over)
        self._searched += 1
        if mine or (params.mode != BEST_REPLY_PLUS and chooses) or (params.mode == BEST_REPLY and active):
            usual = STAY
        else:
            usual = int(policy(self._games, 0, hero, self._tables))
        mask = effective_moves(self._games, 0, hero) if chooses else 1 << usual
        # The search forgets earlier deviations if our ply is next, or if all opponents choose freely.
        forgets = mine or params.mode == PARANOID or (hero + 1) & 3 == params.me
        children = []
        for move in (number for number in range(len(DIRECTIONS)) if mask >> number & 1):
            assert step_saving(self._games, 0, move, self._undos, self._ply)
            died = int(self._undos["deaths"].item(self._ply)) >> params.me & 1
            self._deaths, self._ply = self._deaths + died, self._ply + 1
            deviates = not forgets and (deviated or (active and move != usual))
            children.append(self._node(left - 1, top - 1, deviated=deviates))
            children[-1].move = move
            self._deaths, self._ply = self._deaths - died, self._ply - 1
            step_back(self._games, 0, self._undos, self._ply)
        score = (max if mine else min)(child.score for child in children)
        return Node(hero, score, self._searched - before, children if top > 0 else [])

    def _kernel_score(self, left: int) -> int:
        """Return the score of this position, searched `left` more plies by the kernel, which does not know deviations."""
        work, before = self._work, int(self._work.task["nodes"])
        window = -INFINITE, INFINITE
        score = search_below(self._games, self._tables, self._weights, work.works, self._stop, -1, left, window)
        self._searched += int(work.task["nodes"]) - before
        return int(score) - self._deaths * self._params.death


def show_tree(
    console: Console, path: Path, *, bot: str | None, depth: int, top: int, dot: Path | None, **choice: int | None
) -> None:
    """Search a turn of the recording in a file, `depth` plies deep. Print the first `top` plies of the tree.

    It is the search of `bot`, None for the bot of the recording. `choice` are the arguments of `choose_turn`. With `dot`, also
    write these plies to this file, in Graphviz's language. Raises `UsageError` for a bot without a search, and if the file exists
    and is not a drawing of this command. Raises `VindibotError` if the file cannot be written.
    """
    recording = read_recording(path)
    own = choose_turn(recording, **choice)
    searching = find_bot(bot, recording)
    label, search = find_search(searching)
    warm(console)
    start = view(recording, own.turn)
    params = search.params(start)
    root = build_tree(start, params, search.weights, depth, min(top, depth))
    rivals = " and ".join(f"@{hero + 1}" for hero in range(4) if params.active >> hero & 1)
    kind = f"{search.mode} against {rivals or 'nobody'}, {depth} plies deep; the first {min(top, depth)} plies"
    title = [*heading(recording, own), f"{printable(label)} of {printable(searching.name)}: {kind}"]
    for line in title:
        say(console, line)
    console.print()
    console.print(text_tree(root), soft_wrap=True)
    say(console, "\nscores in gold for us; * principal variation", "dim")
    if dot is not None:
        output = Output(dot, MARK, "vindibot tree", "--dot names another file")
        output.write("\n".join(dot_lines(root, params.me, " / ".join(title))))


def find_search(bot: Bot) -> tuple[str, Search]:
    """Return the label and the behaviour of a bot's first search. Raises `UsageError` for a bot without a search."""
    for spec, behaviour in traits_of(bot):
        if isinstance(behaviour, Search):
            return spec.label, behaviour
    raise UsageError(f"the bot {printable(bot.name)} does not search; name one that does with --bot")


def text_tree(root: Node) -> Tree:
    """Return the tree for a terminal. The principal variation is green and has stars."""
    move = "" if root.move is None else f"{DIRECTIONS[root.move]} "
    line = Text(f"{root.number}{'*' * root.expected} {move}{root}", "bold green" if root.expected else "")
    tree = Tree(line, guide_style="dim")
    tree.children = [text_tree(child) for child in root.children]
    return tree


def dot_lines(root: Node, me: int, title: str) -> Iterator[str]:
    """Yield the lines of a Graphviz file. Each hero has a colour. Our nodes are boxes. The principal variation is red."""
    yield f"// {MARK}"
    yield "digraph search {"
    yield f"  label={_quoted(title)}; labelloc=t; fontname=Helvetica; rankdir=LR;"
    yield '  node [fontname=Helvetica, fontsize=11, style="filled,rounded"]; edge [fontname=Helvetica, fontsize=10];'
    for node in root.walk():
        look = f'shape={"box" if node.hero == me else "ellipse"}, fillcolor="{_FILLS[node.hero]}"' + _emphasis(node)
        label = _quoted(f"{node.number}, {node}".replace(", ", "\n"))
        yield f"  n{node.number} [label={label}, {look}];"
        for child in node.children:
            yield f"  n{node.number} -> n{child.number} [label={DIRECTIONS[child.move or 0]}{_emphasis(child)}];"
    yield "}\n"


def _emphasis(node: Node) -> str:
    return f', color="{_EXPECTED}", penwidth=2' if node.expected else ""


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
