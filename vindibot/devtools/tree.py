"""``vindibot tree``: the top of the search tree of a recorded turn, as text and as a drawing by Graphviz."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from behaviours.common.evaluation import UNIT
from behaviours.search import Search
from sim.game import DIRECTIONS
from vindibot.base import Output, UsageError, VindibotError, printable
from vindibot.config import Bot
from vindibot.devtools.asking import traits_of
from vindibot.devtools.branches import Node, SearchTree, grow
from vindibot.devtools.explanation import heading
from vindibot.engine import warm
from vindibot.games import RecordedTurn, Recording, view

#: Stands at the beginning of a drawing, in a comment.
MARK = "made by vindibot tree"
#: Colours of the heroes 1..4 in drawings, and of the principal variation.
_FILLS = ("#f6d5c4", "#cfe0f5", "#d5efd2", "#f3e9b5")
_EXPECTED = "#c0392b"
_SECONDS = 60.0


def search_of(bot: Bot) -> tuple[str, Search]:
    """A bot's first search, with its label. Raises `UsageError` for a bot that has none."""
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
    dot: Path | None = None,
    svg: Path | None = None,
) -> SearchTree:
    """Search a recorded turn `depth` plies deep as a bot does, print the first `top` plies of the tree, and draw them into files.

    Raises `UsageError` for a bot without a search, for an SVG where there is no Graphviz and for a file that is there and is no
    such drawing, `VindibotError` for a file that cannot be written.
    """
    text, picture = _output(dot, "--dot"), _output(svg, "--svg")
    if dot is not None and svg is not None and dot.resolve() == svg.resolve():
        raise UsageError(f"--dot and --svg both name {dot}: give them two files")
    label, search = search_of(bot)
    program = shutil.which("dot")
    if svg is not None and program is None:
        raise UsageError(f"{svg}: Graphviz (the program dot) is not installed; --dot writes a file that it can draw elsewhere")
    warm(console)
    here = view(recording, own.turn)
    tree = grow(here, search.params(here), search.weights, depth, min(top, depth))
    title = [*heading(recording, own), f"{printable(label)} of {printable(bot.name)}: {describe(tree, search)}"]
    for line in title:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print()
    console.print(text_tree(tree.root), soft_wrap=True)
    console.print(
        "\nscores in gold for us; * what is expected; ≤ and ≥: known only to be so low or so high", style="dim", soft_wrap=True
    )
    drawing = "\n".join(dot_lines(tree, " / ".join(title)))
    if text is not None:
        text.write(f"// {MARK}\n{drawing}")
    if picture is not None and program is not None:
        picture.write(_drawn(program, drawing))
    return tree


def _output(path: Path | None, option: str) -> Output | None:
    """The file to draw into, which can be replaced if it is there."""
    if path is None:
        return None
    output = Output(path, MARK, "vindibot tree", f"{option} names another file")
    output.check()
    return output


def describe(tree: SearchTree, search: Search) -> str:
    """What was searched, in a line."""
    enemies = " and ".join(f"@{hero + 1}" for hero in range(4) if tree.params.active >> hero & 1)
    return (
        f"{search.mode} against {enemies or 'nobody'}, {tree.depth} plies deep, {tree.root.nodes:,} positions;"
        f" the first {tree.top} plies"
    )


def words(node: Node) -> str:
    """A node in words, without its number and the move that led to it."""
    told = f"{node.bound} {node.score / UNIT:+.2f}".strip()
    who = "the game is over" if node.over else f"@{node.hero + 1} to move"
    return f"{told}, {who}, {node.nodes:,} position{'s' * (node.nodes != 1)}"


def _moves(moves: tuple[int, ...]) -> str:
    return " ".join(DIRECTIONS[move] for move in moves)


# ---- Text ----


def text_tree(root: Node) -> Tree:
    """The tree as rich draws it, the principal variation in green and with stars."""
    result = Tree(_line(root), guide_style="dim")
    _add(result, root)
    return result


def _add(to: Tree, node: Node) -> None:
    for child in node.children:
        _add(to.add(_line(child)), child)
    if node.cut:
        to.add(Text(f"cut off: {_moves(node.cut)}", "dim"))


def _line(node: Node) -> Text:
    move = "" if node.move is None else f"{DIRECTIONS[node.move]} "
    return Text(f"{node.number}{'*' * node.expected} {move}{words(node)}", "bold green" if node.expected else "")


# ---- Graphviz ----


def dot_lines(tree: SearchTree, title: str) -> Iterator[str]:
    """The tree in Graphviz' language: heroes by colour, our nodes as boxes, the principal variation in red, cut-offs dashed."""
    yield "digraph search {"
    yield f"  label={_quoted(title)}; labelloc=t; fontname=Helvetica; rankdir=LR;"
    yield '  node [fontname=Helvetica, fontsize=11, style="filled,rounded"]; edge [fontname=Helvetica, fontsize=10];'
    for node in tree.root.walk():
        shape = "box" if node.hero == tree.params.me else "ellipse"
        style = f', color="{_EXPECTED}", penwidth=2' if node.expected else ""
        label = f"{node.number}\n" + words(node).replace(", ", "\n")
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


def _drawn(program: str, drawing: str) -> bytes:
    try:
        done = subprocess.run([program, "-Tsvg"], input=drawing.encode(), capture_output=True, timeout=_SECONDS, check=True)
    except subprocess.TimeoutExpired:
        raise VindibotError(f"Graphviz took more than {_SECONDS:.0f} s; show less of the tree with --top") from None
    except (OSError, subprocess.CalledProcessError) as problem:
        raise VindibotError(f"Graphviz could not draw the tree ({problem})") from None
    head, mark, rest = done.stdout.partition(b"<svg")
    return head + f"<!-- {MARK} -->\n".encode() + mark + rest
