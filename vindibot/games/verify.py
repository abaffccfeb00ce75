"""The check of recorded games by the rules: every move is played, and every state is compared with the recorded state.

A file of the original server, gzipped or not, has one game per line as JSON: the state before the first ply in the protocol's
form (``init``), the spawn squares, the moves, and the whole state after each move. The report shows the first difference as two
boards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from rich.console import Console

from sim.board import BoardError, draw, read_tiles, tile_text
from sim.game import ALL_CRASHED, CRASH, DIRECTIONS, NO_DIRECTION, RUNNING, TURN_MAX, Games, place_heroes, row_column, square
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.output.text import counted, decode_json
from vindibot.games.files.game_file import kind_of
from vindibot.games.files.lines import read_lines
from vindibot.games.files.recording import read_recording
from vindibot.games.game_record import read_records
from vindibot.games.history import GameHistory
from vindibot.games.protocol import ProtocolError, read_game, to_games
from vindibot.games.retrace import Difference, Tally, retrace_record, retrace_recording

_ENDS = {"TurnMax": TURN_MAX, "AllCrashed": ALL_CRASHED}
_MOVES = {**{word: direction for direction, word in enumerate(DIRECTIONS)}, "Crash": CRASH}


class VerifyError(VindibotError):
    """A file of recorded games cannot be read. The message names the file and the line."""


def read_games(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the games in a file (gzipped or plain), each with the number of its line. Raises `VerifyError` for a damaged file."""
    for number, line in read_lines(path, VerifyError):
        yield number, _decode(path, number, line)


def _decode(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        game = decode_json(line)
    except ValueError as problem:
        raise VerifyError(f"{path}, line {number}: {problem}; every line is one game as JSON") from None
    if not isinstance(game, dict) or not {"id", "spawns", "init", "moves", "states"} <= game.keys():
        raise VerifyError(f"{path}, line {number}: this is no recorded game (id, spawns, init, moves and states are needed)")
    if len(game["moves"]) != len(game["states"]):
        raise VerifyError(f"{path}, line {number}: there are {len(game['moves'])} moves and {len(game['states'])} states")
    return game


def first_state(game: dict[str, Any]) -> Games:
    """Return the state before the first ply of a recorded game. Raises `ProtocolError` if this state cannot be played."""
    games = to_games(read_game(game["init"]))
    games[0]["training"] = bool(game.get("training"))
    games[0]["hero"]["spawn"] = [square(row, column) for row, column in game["spawns"]]
    place_heroes(games)
    return games


def original_game(game: dict[str, Any]) -> GameHistory:
    """Play the moves of a recorded game by the rules, and return the result. Stop before the first move that cannot be played.

    Raises `ProtocolError` if the first state cannot be played.
    """
    history = GameHistory(str(game["id"]), first=first_state(game))
    history.play_all([_MOVES.get(word, NO_DIRECTION) for word in game["moves"]])
    return history


def agrees(games: Games, state: list[Any]) -> bool:
    """Return whether ``games[0]`` equals the recorded `state`: [turn, finished, tiles, heroes]."""
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
    """Return a drawing of the recorded `state`, with the spawn squares of `games` and the tiles under the heroes of `games`."""
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
    """Play one recorded game. Return the number of states compared, and the first difference (None if all states are equal).

    Raises `ProtocolError` for a game that our rules cannot play, for example on a board that is not square.
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


def verify(path: Path, tally: Tally) -> None:
    """Check all games in a file of any kind (see `vindibot.games.files.game_file`), and add the results to `tally`.

    Raises `VindibotError` for a file that cannot be read.
    """
    try:
        kind = kind_of(path)
    except UsageError:
        kind = "original"  # the reader of original games raises an error that names the fault
    if kind == "recording":
        retrace_recording(read_recording(path), tally)
    elif kind == "records":
        for record in read_records(path):
            retrace_record(record, tally, path)
    else:
        _verify_original(path, tally)


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
    """Return two drawings beside each other, with the mark ``!`` between lines that differ."""
    lines = list(zip_longest(recorded.splitlines(), ours.splitlines(), fillvalue=""))
    width = max(len(one) for one, _ in lines)
    marked = [("recorded", " ", "ours"), *((one, " " if one == other else "!", other) for one, other in lines)]
    return "\n".join(f"{one:<{width}}  {mark}  {other}".rstrip() for one, mark, other in marked)


def report(tally: Tally) -> str:
    """Return the results as text: remarks, skipped states, problems, the boards of the first difference, and a line of totals."""
    lines = [f"note: {remark}" for remark in tally.remarks]
    lines += [f"skipped: {reason}" for reason in tally.skipped]
    lines += [f"wrong: {problem}" for problem in tally.problems]
    if tally.differences:
        first = tally.differences[0]
        boards = side_by_side(first.expected, first.got)
        lines += [f"game {first.game}, ply {first.ply}: {first.move}", first.before, boards]
    games, states = counted(tally.games, "game"), counted(tally.states, "state")
    mismatches = "1 mismatch" if tally.mismatches == 1 else f"{tally.mismatches} mismatches"
    lines.append(f"{games}, {states}, {mismatches}, {len(tally.skipped)} skipped")
    return "\n".join(lines)


def verify_files(paths: Iterable[Path | str], console: Console) -> int:
    """Check the files, print the report, and return the exit code: 0 if all games follow the rules, 1 if a game does not.

    If a file cannot be read, print the reason and go on with the next file. In this case the exit code is the code of the error,
    unless a game does not follow the rules.
    """
    tally = Tally()
    code = 0
    for path in map(Path, paths):
        try:
            verify(path, tally)
        except VindibotError as problem:
            console.print(problem.message, markup=False, highlight=False, soft_wrap=True)
            code = problem.exit_code
    console.print(report(tally), markup=False, highlight=False, soft_wrap=True)
    return 1 if tally.mismatches else code
