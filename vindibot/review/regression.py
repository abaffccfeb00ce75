"""Tests of reviewed turns: a pytest file that fails until a bot plays better moves on them."""

from __future__ import annotations

import json
import keyword
import re
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from behaviours.base import RECENT_TURNS
from sim.game import PLIES_PER_ROUND
from vindibot.base.console import say
from vindibot.base.errors import UsageError
from vindibot.base.text import counted, printable
from vindibot.base.writing import Output, short
from vindibot.config.bots import Bot
from vindibot.engine.asking import asking, moves_of
from vindibot.games.files.review import ReviewedTurn
from vindibot.games.game_record import GameRecord, dumps
from vindibot.games.history import GameHistory
from vindibot.games.outcome import Reason
from vindibot.review.report import progress_bar
from vindibot.review.turns import positions

#: Default budget of a bot that is asked again, in nodes.
NODES_AGAIN = 100_000
#: Marks of the two files that `write_tests` writes (tests, states). It replaces an existing file only if this file has the mark.
TESTS_MARK, STATES_MARK = "# Made by vindibot ", '"start":'


def good_moves(turn: ReviewedTurn) -> set[str]:
    """Return the moves of a reviewed turn that lose less than half of the gold that the played move lost."""
    return {value.move for value in turn.values if value.less < turn.loss / 2}


def not_fixed(console: Console, history: GameHistory, turns: Sequence[ReviewedTurn], bot: Bot, nodes: int) -> list[ReviewedTurn]:
    """Return the turns with bad moves on which a bot may still play a move that is not good, the largest loss first.

    `nodes` is the bot's search budget per turn, in nodes.
    """
    bad = {(turn.turn, turn.hero - 1): turn for turn in turns}
    left = []
    with asking(bot) as ballot, progress_bar(console) as progress:
        task = progress.add_task(f"asking {printable(bot.name)}", total=len(turns))
        for position in positions(history, {hero for _, hero in bad}):
            turn = bad.get((position.turn, position.me))
            if turn is not None:
                if not set(moves_of(ballot(position.view(nodes)))) <= good_moves(turn):
                    left.append(turn)
                progress.advance(task)
    return sorted(left, key=lambda turn: -turn.loss)


def write_tests(
    console: Console, turns: Sequence[tuple[GameHistory, ReviewedTurn]], path: Path, bot: str, command: str = "vindibot review"
) -> None:
    """Write a pytest file with a test per turn, and beside it a file with the states of these turns.

    Without turns, only print that there is no test. `bot` is the name or the file of the bot that the tests ask. Earlier files of
    this function are replaced. Raises `UsageError` if one of the two files exists and was not written by this function, and if
    `path` is not the name of a Python module.
    """
    if path.suffix != ".py" or not path.stem.isidentifier() or keyword.iskeyword(path.stem):
        raise UsageError(f"{short(path)}: --tests needs the name of a Python file, such as test_worst.py")
    if not turns:
        say(console, "no test was written: no move of the bot loses gold that counts")
        return
    states = path.with_suffix(".states.jsonl")
    instead = "--tests names another file"
    tests_file = Output(path, TESTS_MARK, command, instead)
    states_file = Output(states, STATES_MARK, command, instead)
    for output in (tests_file, states_file):
        output.check()
    states_file.write(b"".join(dumps(_record(history, turn)) + b"\n" for history, turn in turns))
    tests_file.write(_tests(turns, path, bot, command))
    say(
        console,
        f"{short(path)} has {counted(len(turns), 'test')}, their states are in {short(states)};"
        f" {shlex.join(['pytest', short(path)])} runs them",
    )


def _record(history: GameHistory, turn: ReviewedTurn) -> GameRecord:
    """Return a game record that ends with the state of a turn. It has the plies that a trait remembers."""
    number = history.at_turn(turn.turn)
    moves = history.position(number).moves[-PLIES_PER_ROUND * RECENT_TURNS :]
    names = history.names
    now = datetime.now(UTC)
    return GameRecord.of(
        history.state(number - len(moves)),
        moves=moves,
        id=_record_id(history, turn),
        names=(names[0], names[1], names[2], names[3]),
        ending=Reason.INTERRUPTED,
        started=now,
        finished=now,
    )


def _record_id(history: GameHistory, turn: ReviewedTurn) -> str:
    return f"{history.id}-turn-{turn.turn}"


def _tests(turns: Sequence[tuple[GameHistory, ReviewedTurn]], path: Path, bot: str, command: str) -> str:
    games = ", ".join(dict.fromkeys(re.sub(r"[^\w.-]", "-", history.id)[:40] for history, _ in turns))
    head = f'''{TESTS_MARK}{command.removeprefix("vindibot ")} --tests.
"""The worst moves of a bot. A test fails until the bot plays a better move. Games: {games}."""

from pathlib import Path

from vindibot.testing import best_moves, view

BOT = {json.dumps(bot)}
STATES = Path(__file__).with_suffix(".states.jsonl")
'''
    return head + "".join(_test(history, turn) for history, turn in turns)


def _test(history: GameHistory, turn: ReviewedTurn) -> str:
    """Return the test of a turn."""
    good = sorted(good_moves(turn), key=lambda move: turn.value(move).less)
    what = f"{turn.move} loses {turn.loss:.1f} gold against {turn.best}" + (f": {turn.kind}" if turn.kind else "")
    moves = "{" + ", ".join(f'"{move}"' for move in good) + "}"
    game = json.dumps(_record_id(history, turn))
    return f"""

def test_{re.sub(r"[^A-Za-z0-9]", "_", history.id)}_turn_{turn.turn}() -> None:
    # {turn.mark.capitalize() or "Loss"} of hero {turn.hero}. The standard error of the loss is {turn.loss_error:.1f} gold.
    position = view(STATES, turn={turn.turn}, game={game}, nodes={NODES_AGAIN})
    print(position)
    assert best_moves(BOT, position) <= {moves}, "{what}"
"""
