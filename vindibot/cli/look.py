"""``vindibot explain``, ``watch``, ``turn``, ``bench`` and ``tree`` on the command line."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from vindibot.completion import complete_bots

PATH = click.Path(path_type=Path)
#: Words for the directions 0..4 on the command line.
WORDS = ("stay", "north", "south", "east", "west")
TURN = "the wire's number of one of the hero's turns (four to a round)"


def _explain(file: Path, turn: int, why_not: str | None, board: bool) -> None:
    from vindibot.console import terminal
    from vindibot.errors import UsageError
    from vindibot.gamefile import kind_of
    from vindibot.look.explanation import explain
    from vindibot.recording import read_recording

    if kind_of(file) != "recording":
        raise UsageError(f"{file}: nobody's votes are in here; a recording is needed, as `vindibot play` writes them")
    recording = read_recording(file)
    own = recording.turn(turn)
    explain(terminal(), recording, own, None if why_not is None else WORDS.index(why_not), board=board)


explain_command = click.Command(
    "explain",
    callback=_explain,
    params=[
        click.Argument(["file"], type=PATH),
        click.Option(["--turn"], type=int, required=True, metavar="N", help=TURN),
        click.Option(
            ["--why-not"],
            type=click.Choice(WORDS, case_sensitive=False),
            help="say who voted against this direction, and by how much it lost",
        ),
        click.Option(["--board/--no-board"], default=False, help="show the board as well  [default: off]"),
    ],
    short_help="Say why a hero did what he did on a turn.",
    help="""Say why a hero did what he did on a turn.

FILE is a recording of `vindibot play`. Each trait's votes are shown times its weight, so that they add up; "-" is a
direction that would have had no effect. Below the table: by how much the order won, how deep a search went, the
moves it expects (a letter for each ply, ours first), and what went wrong.

\b
Examples:
  vindibot explain recordings/GAME.jsonl --turn 212
  vindibot explain recordings/GAME.jsonl --turn 212 --why-not north
""",
)


def _watch(source: str, game: str | None, turn: int | None, speed: float | None, lines: bool) -> None:
    from vindibot.look.watching import watch

    watch(source, game=game, turn=turn, speed=speed, lines=lines)


watch_command = click.Command(
    "watch",
    callback=_watch,
    params=[
        click.Argument(["source"], metavar="URL-OR-FILE"),
        click.Option(["--game"], metavar="ID", help="which game of a file of several: its id, or its number from 1"),
        click.Option(["--turn"], type=click.IntRange(min=0), metavar="N", help="begin at this turn (the wire's), and wait there"),
        click.Option(
            ["--speed"],
            type=click.FloatRange(0.25, 64),
            metavar="X",
            help="1 is a round a second, up to 64  [default: 1; without a terminal all at once]",
        ),
        click.Option(["--lines"], is_flag=True, help="print a line for each ply even where there is a terminal"),
    ],
    short_help="Watch a game in the terminal, live or recorded.",
    help="""Watch a game in the terminal, live or recorded.

URL-OR-FILE is the address of a game's page, that of a server alone (the newest game that is played there), a recording,
or a file of game records. A live game is followed to its end, through lost connections too. Where there is no terminal
a line is printed for each ply.

\b
Keys:
  space           pause and go on (at the end: from the beginning)
  right, left     a ply on or back          down, up     a round on or back
  + and -         faster and slower         Home, End    the beginning, the newest state
  q               leave

\b
Examples:
  vindibot watch http://localhost:9000
  vindibot watch http://localhost:9000/abcd1234
  vindibot watch recordings/GAME.jsonl --turn 212
  vindibot watch results/cup.games.jsonl --game 3 --lines
""",
)


def _turn(
    recording: Path,
    turn: int,
    bot: str | None,
    traits: tuple[str, ...],
    nodes: int | None,
    limit_ms: float | None,
    debugger: bool,
) -> None:
    from vindibot.console import terminal
    from vindibot.look.asking import bot_of
    from vindibot.look.rerun import rerun
    from vindibot.recording import read_recording

    read = read_recording(recording)
    own = read.turn(turn)
    rerun(terminal(), read, own, bot_of(bot, read), nodes=nodes, only=traits, debugger=debugger, limit_ms=limit_ms)


_TRAITS = click.Option(["--trait", "traits"], multiple=True, metavar="LABEL", help="ask this trait only; repeatable")
_NODES = click.Option(
    ["--nodes"],
    type=click.IntRange(min=1),
    metavar="N",
    help="give searches a budget of N nodes, which is the same anywhere  [default: 0.9 s]",
)

turn_command = click.Command(
    "turn",
    callback=_turn,
    params=[
        click.Argument(["recording"], type=PATH),
        click.Option(["--turn"], type=int, required=True, metavar="N", help=TURN),
        click.Option(
            ["--bot"],
            metavar="BOT",
            help="the bot to ask  [default: the one that made the recording]",
            shell_complete=complete_bots,
        ),
        _TRAITS,
        _NODES,
        click.Option(
            ["--limit-ms"],
            type=click.FloatRange(min=1),
            metavar="MS",
            help="end a trait that is still at work after MS  [default: 10 times the game's limit; with --nodes 60000]",
        ),
        click.Option(
            ["--pdb", "debugger"],
            is_flag=True,
            help="stop in Python's debugger where a trait raises or is at work at the limit, else where it begins",
        ),
    ],
    short_help="Run one recorded turn again, under a debugger if wished.",
    help="""Run one recorded turn again, under a debugger if wished.

The traits are asked in this very process, with the state, the history and the seed of then. Their votes (times the
weight) are printed beside those in the recording: "same" where nothing has changed, else "now" and "then". What a trait
prints is shown, and a breakpoint() in it stops there. A trait in an endless loop is ended after --limit-ms, and named with
the line where it was.

The bot is that of the recording's header; its own traits are looked for in the current folder, in bots/ and beside the
recording. Compiled kernels can be stepped through with NUMBA_DISABLE_JIT=1.

\b
Examples:
  vindibot turn recordings/GAME.jsonl --turn 212
  vindibot turn recordings/GAME.jsonl --turn 212 --bot mine.toml --trait coward --pdb
""",
)


def _bench(bot: str, recordings: tuple[Path, ...], traits: tuple[str, ...], nodes: int | None, turns: int) -> None:
    from vindibot.bots import load_bot
    from vindibot.console import terminal
    from vindibot.look.stopwatch import bench

    sys.exit(bench(terminal(), load_bot(bot), recordings, nodes=nodes, most=turns, only=traits))


bench_command = click.Command(
    "bench",
    callback=_bench,
    params=[
        click.Argument(["bot"], shell_complete=complete_bots),
        click.Argument(["recordings"], nargs=-1, type=PATH, metavar="[RECORDINGS]..."),
        _TRAITS,
        _NODES,
        click.Option(
            ["--turns"], type=click.IntRange(min=1), default=300, metavar="N", help="time N turns at most  [default: 300]"
        ),
    ],
    short_help="Say how long each trait of a bot takes.",
    help="""Say how long each trait of a bot takes.

Milliseconds per turn: the median, the 99th percentile, and the worst turn with its number and file, so that `vindibot
turn` can run it again. The turns are those of the RECORDINGS, or of three games that are played on the spot. Each trait
is asked alone, in this process; a search has 0.9 s unless --nodes gives it a budget. A trait that is still at work after
10 s (with --nodes a minute) is ended, named, and not asked again. Ctrl-C prints what is known by then.

\b
Examples:
  vindibot bench seed
  vindibot bench mine.toml recordings/*.jsonl --nodes 20000
""",
)


def _tree(recording: Path, turn: int, depth: int, bot: str | None, top: int, dot: Path | None, svg: Path | None) -> None:
    from vindibot.console import terminal
    from vindibot.look.asking import bot_of
    from vindibot.look.tree import show_tree
    from vindibot.recording import read_recording

    read = read_recording(recording)
    own = read.turn(turn)
    show_tree(terminal(), read, own, bot_of(bot, read), depth=depth, top=top, dot=dot, svg=svg)


tree_command = click.Command(
    "tree",
    callback=_tree,
    params=[
        click.Argument(["recording"], type=PATH),
        click.Option(["--turn"], type=int, required=True, metavar="N", help=TURN),
        click.Option(["--depth"], type=click.IntRange(1, 60), default=8, metavar="D", help="search D plies deep  [default: 8]"),
        click.Option(["--top"], type=click.IntRange(1, 12), default=3, metavar="K", help="show the first K plies  [default: 3]"),
        click.Option(
            ["--bot"],
            metavar="BOT",
            help="the bot whose search it is  [default: the one that made the recording]",
            shell_complete=complete_bots,
        ),
        click.Option(["--dot"], type=PATH, metavar="FILE", help="write a drawing for Graphviz"),
        click.Option(["--svg"], type=PATH, metavar="FILE", help="draw it, where Graphviz (dot) is installed"),
    ],
    short_help="Show the top of a search's tree.",
    help="""Show the top of a search's tree.

The search of the bot that made the RECORDING, or of BOT, is run on one of its turns, D plies deep. Each position of the
first K plies has a number, the hero to move, its score in gold for us and how many positions were looked at below it.
Branches that need not be searched are said to be cut off; what is expected of both sides has a star and a colour.

\b
Examples:
  vindibot tree recordings/GAME.jsonl --turn 212
  vindibot tree recordings/GAME.jsonl --turn 212 --depth 12 --top 5 --dot tree.dot
""",
)
