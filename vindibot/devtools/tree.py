"""``vindibot tree``: show the top of the search tree of a recorded turn, as text and as a Graphviz file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from behaviours.common.evaluation import UNIT
from behaviours.search.trait import Search
from sim.game import DIRECTIONS
from vindibot.base.errors import UsageError
from vindibot.base.output.console import say
from vindibot.base.output.text import printable
from vindibot.base.writing import Output
from vindibot.config.bots import Bot
from vindibot.devtools.branches import Node, SearchTree, build_tree
from vindibot.devtools.explanation import heading
from vindibot.devtools.trials.asking import traits_of
from vindibot.engine.warmup import warm
from vindibot.games.files.recorded_turn import view
from vindibot.games.files.recording import RecordedTurn, Recording

#: A comment at the beginning of each drawing, which marks the file as ours.
MARK = "made by vindibot tree"
#: Colours of the heroes 1..4 in drawings, and of the principal variation.
_FILLS = ("#f6d5c4", "#cfe0f5", "#d5efd2", "#f3e9b5")
_EXPECTED = "#c0392b"


def find_search(bot: Bot) -> tuple[str, Search]:
    """Return the label and the behaviour of a bot's first search. Raises `UsageError` for a bot without a search."""
    for spec, behaviour in traits_of(bot):
        if isinstance(behaviour, Search):
            return spec.label, behaviour
    raise UsageError(f"the bot {printable(bot.name)} does not search; name one that does with --bot")


def show_tree(
    console: Console,
    recording: Recording,
    own: RecordedTurn,
    bot: Bot,
    *,
    depth: int,
    top: int,
    dot: Path | None,
) -> None:
    """Search a recorded turn with the bot's search, `depth` plies deep. Print the first `top` plies of the tree.

    With `dot`, also write these plies to this file, in Graphviz's language. Raises `UsageError` for a bot without a search, and
    if the file exists and is not a drawing of this command. Raises `VindibotError` if the file cannot be written.
    """
    output = Output(dot, MARK, "vindibot tree", "--dot names another file") if dot is not None else None
    if output is not None:
        output.check()
    label, search = find_search(bot)
    warm(console)
    here = view(recording, own.turn)
    tree = build_tree(here, search.params(here), search.weights, depth, min(top, depth))
    title = [*heading(recording, own), f"{printable(label)} of {printable(bot.name)}: {describe(tree, search)}"]
    for line in title:
        say(console, line)
    console.print()
    console.print(text_tree(tree.root), soft_wrap=True)
    say(console, "\nscores in gold for us; * principal variation; ≤ and ≥: an upper or a lower bound of the score", "dim")
    if output is not None:
        output.write(f"// {MARK}\n" + "\n".join(dot_lines(tree, " / ".join(title))))


def describe(tree: SearchTree, search: Search) -> str:
    """Return a line about the search: its mode, opponents and size."""
    opponents = " and ".join(f"@{hero + 1}" for hero in range(4) if tree.params.active >> hero & 1)
    return (
        f"{search.mode} against {opponents or 'nobody'}, {tree.depth} plies deep, {tree.root.nodes:,} positions;"
        f" the first {tree.top} plies"
    )


def node_words(node: Node) -> str:
    """Return a node as text, without its number and without the move that led to it."""
    score = f"{node.bound} {node.score / UNIT:+.2f}".strip()
    mover = "the game is over" if node.over else f"@{node.hero + 1} to move"
    return f"{score}, {mover}, {node.nodes:,} position{'s' * (node.nodes != 1)}"


def _moves(moves: tuple[int, ...]) -> str:
    return " ".join(DIRECTIONS[move] for move in moves)


# ---- Text ----


def text_tree(root: Node) -> Tree:
    """Return the tree for a terminal. The principal variation is green and has stars."""
    tree = Tree(_line(root), guide_style="dim")
    tree.children = [text_tree(child) for child in root.children]
    if root.cut:
        tree.add(Text(f"cut off: {_moves(root.cut)}", "dim"))
    return tree


def _line(node: Node) -> Text:
    move = "" if node.move is None else f"{DIRECTIONS[node.move]} "
    return Text(f"{node.number}{'*' * node.expected} {move}{node_words(node)}", "bold green" if node.expected else "")


# ---- Graphviz ----


def dot_lines(tree: SearchTree, title: str) -> Iterator[str]:
    """Yield the lines of a Graphviz file. Each hero has a colour. Our nodes are boxes. The principal variation is red."""
    yield "digraph search {"
    yield f"  label={_quoted(title)}; labelloc=t; fontname=Helvetica; rankdir=LR;"
    yield '  node [fontname=Helvetica, fontsize=11, style="filled,rounded"]; edge [fontname=Helvetica, fontsize=10];'
    for node in tree.root.walk():
        shape = "box" if node.hero == tree.params.me else "ellipse"
        style = f', color="{_EXPECTED}", penwidth=2' if node.expected else ""
        label = f"{node.number}\n" + node_words(node).replace(", ", "\n")
        yield f'  n{node.number} [label={_quoted(label)}, shape={shape}, fillcolor="{_FILLS[node.hero]}"{style}];'
        for child in node.children:
            style = f', color="{_EXPECTED}", penwidth=2' if child.expected else ""
            yield f"  n{node.number} -> n{child.number} [label={_quoted(DIRECTIONS[child.move or 0])}{style}];"
        if node.cut:
            yield f"  c{node.number} [label={_quoted('cut off')}, shape=plaintext, style=dashed];"
            yield f"  n{node.number} -> c{node.number} [label={_quoted(_moves(node.cut))}, style=dashed];"
    yield "}"
    yield ""


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
