"""Recorded games against the rules: replay every move and compare every state.

The files hold one game per line as JSON, gzipped or not: the state before the first ply as on the wire (``init``), the
spawn squares, the moves, and after each move the whole state. The first difference is shown as two boards side by side.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from rich.console import Console

from sim.board import BoardError, draw, read_tiles, tile_text
from sim.game import ALL_CRASHED, CRASH, DIRECTIONS, NO_DIRECTION, RUNNING, TURN_MAX, Games, place_heroes, row_column, square
from vindibot.base import UsageError, VindibotError
from vindibot.games.differences import Difference, Tally
from vindibot.games.game_file import kind_of
from vindibot.games.game_record import read_records
from vindibot.games.history import GameHistory
from vindibot.games.protocol import ProtocolError, read_game, to_games
from vindibot.games.recording import read_recording
from vindibot.games.retrace import retrace_record, retrace_recording

_ENDS = {"TurnMax": TURN_MAX, "AllCrashed": ALL_CRASHED}
_MOVES = {**{word: direction for direction, word in enumerate(DIRECTIONS)}, "Crash": CRASH}


class VerifyError(VindibotError):
    """A file of recorded games that cannot be read; the message names the file and the line."""


def read_games(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The games of a file (.gz or plain), each with the number of its line. Raises `VerifyError`."""
    number = 0
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, _decode(path, number, line)
    except UnicodeDecodeError:
        raise VerifyError(f"{path}, after line {number}: this is not text; a file of recorded games is JSON lines") from None
    except EOFError:
        raise VerifyError(f"{path}, after line {number}: the file is cut off; fetch or record it again") from None
    except (gzip.BadGzipFile, zlib.error) as problem:
        raise VerifyError(f"{path}, after line {number}: the gzip data is damaged ({problem}); fetch it again") from None
    except OSError as problem:
        raise VerifyError(f"{path}: {problem.strerror or problem}") from None


def _decode(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        game = json.loads(line)
    except json.JSONDecodeError as problem:
        message = f"{path}, line {number}, column {problem.colno}: {problem.msg}; every line is one game as JSON"
        raise VerifyError(message) from None
    except (ValueError, RecursionError) as problem:  # a number of too many digits; nested too deep
        raise VerifyError(f"{path}, line {number}: {problem}; every line is one game as JSON") from None
    if not isinstance(game, dict) or not {"id", "spawns", "init", "moves", "states"} <= game.keys():
        raise VerifyError(f"{path}, line {number}: this is no recorded game (id, spawns, init, moves and states are needed)")
    if len(game["moves"]) != len(game["states"]):
        raise VerifyError(f"{path}, line {number}: there are {len(game['moves'])} moves and {len(game['states'])} states")
    return game


def first_state(game: dict[str, Any]) -> Games:
    """The state before the first ply of a recorded game. Raises `ProtocolError` where it cannot be played."""
    games = to_games(read_game(game["init"]))
    games[0]["training"] = bool(game.get("training"))
    games[0]["hero"]["spawn"] = [square(row, column) for row, column in game["spawns"]]
    place_heroes(games)
    return games


def original_game(game: dict[str, Any]) -> GameHistory:
    """A recorded game as its moves lead through the rules, up to the first move that cannot be played. Raises
    `ProtocolError` where it cannot be played at all."""
    history = GameHistory(str(game["id"]), first=first_state(game))
    history.play_all([_MOVES.get(word, NO_DIRECTION) for word in game["moves"]])
    return history


def agrees(games: Games, state: list[Any]) -> bool:
    """Whether ``games[0]`` is the recorded `state`: [turn, finished, tiles, heroes]."""
    record = games[0]
    if [int(record["turn"]), bool(record["status"] != RUNNING), tile_text(games)] != state[:3]:
        return False
    for hero, recorded in zip(record["hero"], state[3], strict=True):
        gold, pos, life, mines, _, last_dir, crashed, _ = hero.tolist()
        last = None if last_dir == NO_DIRECTION else DIRECTIONS[last_dir]
        if [*row_column(pos), life, gold, mines, last, bool(crashed)] != recorded:
            return False
    return True


def _recorded_board(games: Games, state: list[Any]) -> str:
    """A drawing of the recorded `state`; `games` lends what a state does not tell (spawns, tiles below heroes)."""
    turn, finished, text, heroes = state
    shown = games.copy()
    record = shown[0]
    size = int(record["size"])
    tiles, _ = read_tiles(text, size)
    board = record["cell"].reshape(32, 32)[1 : size + 1, 1 : size + 1]
    board[board >> 4 == 0] = tiles[board >> 4 == 0]
    record["turn"] = turn
    record["status"] = 0 if not finished else TURN_MAX if turn >= record["max_turns"] else ALL_CRASHED
    for hero, (row, column, life, gold, mines, last, crashed) in zip(record["hero"], heroes, strict=True):
        hero["pos"], hero["life"], hero["gold"], hero["mines"] = square(row, column), life, gold, mines
        hero["last_dir"], hero["crashed"] = NO_DIRECTION if last is None else DIRECTIONS.index(last), crashed
    place_heroes(shown)
    return draw(shown)


def verify_game(game: dict[str, Any]) -> tuple[int, Difference | None]:
    """Replay one recorded game; the number of states compared, and the first that differs.

    Raises `ProtocolError` for a game that cannot be played here (a board that is not square).
    """
    history = original_game(game)
    after = history.state(0)
    for number, (word, state) in enumerate(zip(game["moves"], game["states"], strict=True)):
        before, after = after, history.state(min(number + 1, len(history)))
        if number == len(history) or not agrees(after, state):
            boards = draw(before), _recorded_board(after, state), draw(after)
            return number + 1, Difference(str(game["id"]), number, str(word), *boards)
    end = game.get("end")
    if end is not None and int(after[0]["status"]) != _ENDS.get(end):
        board = draw(after)
        return len(history), Difference(str(game["id"]), len(history), f"end {end}", board, board, board)
    return len(history), None


def verify(paths: Iterable[Path], tally: Tally | None = None) -> Tally:
    """Replay all games of all files, whichever kind they are (`vindibot.games.game_file`). Raises `VindibotError` for a file that
    cannot be read; `tally` keeps what was done."""
    tally = tally if tally is not None else Tally()
    for path in paths:
        kind = _kind(path)
        if kind == "recording":
            retrace_recording(read_recording(path), tally)
        elif kind == "records":
            for record in read_records(path):
                retrace_record(record, tally, path)
        else:
            _verify_original(path, tally)
    return tally


def _kind(path: Path) -> str:
    """The kind of a file; what is none is taken for games of the original server, whose reader says what is wrong with it."""
    try:
        return kind_of(path)
    except UsageError:
        return "original"


def _verify_original(path: Path, tally: Tally) -> None:
    for number, game in read_games(path):
        try:
            states, difference = verify_game(game)
        except ProtocolError as problem:
            tally.skipped.append(f"{path.name}, line {number}, game {game['id']}: {problem}")
            continue
        except (BoardError, KeyError, IndexError, TypeError, ValueError) as problem:
            raise VerifyError(f"{path}, line {number}: this is no recorded game ({type(problem).__name__}: {problem})") from None
        tally.games += 1
        tally.states += states
        if difference is not None:
            tally.differences.append(difference)


def side_by_side(recorded: str, ours: str) -> str:
    """Two drawings beside each other, line by line, with a mark between lines that differ."""
    lines = list(zip_longest(recorded.splitlines(), ours.splitlines(), fillvalue=""))
    width = max(len(one) for one, _ in lines)
    marked = [("recorded", " ", "ours"), *((one, " " if one == other else "!", other) for one, other in lines)]
    return "\n".join(f"{one:<{width}}  {mark}  {other}".rstrip() for one, mark, other in marked)


def report(tally: Tally) -> str:
    """The tally for people: what was skipped, the first difference as boards, and a line with the numbers."""
    lines = [f"note: {remark}" for remark in tally.remarks]
    lines += [f"skipped: {reason}" for reason in tally.skipped]
    lines += [f"wrong: {problem}" for problem in tally.problems]
    if tally.differences:
        first = tally.differences[0]
        lines += [
            f"game {first.game}, ply {first.ply}: {first.move}",
            first.before,
            side_by_side(first.expected, first.got),
        ]
    numbers = [
        (tally.games, "games"),
        (tally.states, "states"),
        (tally.mismatches, "mismatches"),
        (len(tally.skipped), "skipped"),
    ]
    lines.append(", ".join(f"{number} {what}" for number, what in numbers))
    return "\n".join(lines)


def verify_files(paths: Iterable[Path | str], console: Console) -> int:
    """The command: verify the files, print the report, return the exit code (0 all equal, 1 anything else).

    What was verified before a file that cannot be read is still reported.
    """
    tally = Tally()
    code = 0
    for path in map(Path, paths):
        try:
            verify([path], tally)
        except VindibotError as problem:
            console.print(problem.message, markup=False, highlight=False, soft_wrap=True)
            code = problem.exit_code
    console.print(report(tally), markup=False, highlight=False, soft_wrap=True)
    return 1 if tally.mismatches else code
