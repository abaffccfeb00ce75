"""Pages of games beside the report: one HTML file per game, in which the viewer plays it.

Only some games have pages, so that a long tournament does not fill the disk. `vindibot replay` makes the page of any other game
from the file of game records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from vindibot.arena.results import GameLine
from vindibot.arena.store import INSTEAD, records_path, replays_path
from vindibot.base import Output, UsageError, VindibotError, short
from vindibot.games import GameRecord, read_records
from vindibot.viewer import page_output, record_page

#: The block and the number of a game.
GameKey = tuple[int, int]


def page_name(key: GameKey) -> str:
    """Return the name of the file of a game's page: ``block3-game2.html``."""
    return f"block{key[0]}-game{key[1]}.html"


def check_pages(results: Path) -> None:
    """Raise `UsageError` if the folder of pages, or a page in it, is something that no arena made."""
    folder = replays_path(results)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{short(folder)} is there already and is no folder: move it away, or {INSTEAD}")
    for path in sorted(folder.glob("block*-game*.html")):
        _output(path).check()


def choose(games: Sequence[GameLine], most: int) -> list[GameLine]:
    """Return at most `most` games that have records, the latest by block and number first.

    At most half of them are the latest games with forfeits; the others are the latest games.
    """
    latest = sorted((game for game in games if game.record), key=_key, reverse=True)
    forfeited = list(islice((game for game in latest if not _is_whole(game)), most // 2))
    known = {_key(game) for game in forfeited}
    others = islice((game for game in latest if _key(game) not in known), most - len(forfeited))
    return sorted([*forfeited, *others], key=_key, reverse=True)


def write_pages(results: Path, games: Sequence[GameLine], most: int) -> dict[GameKey, Path]:
    """Write the pages of the chosen games into the folder beside the results. Return their paths by block and number.

    A game without a readable record has no page. Raises `UsageError` or `VindibotError` if a page cannot be written.
    """
    chosen = choose(games, most)
    records = readable_records(records_path(results)) if chosen else ()
    wanted = {game.record for game in chosen}
    found = {record.id: record for record in records if record.id in wanted}  # of two, the last counts
    pages: dict[GameKey, Path] = {}
    for game in chosen:
        record = found.get(game.record)
        if record is None:
            continue
        try:
            page = record_page(record)
        except VindibotError:  # the game was aborted, or its record is damaged
            continue
        path = replays_path(results) / page_name(_key(game))
        _output(path).write(page)
        pages[_key(game)] = path
    return pages


def readable_records(path: Path) -> Iterator[GameRecord]:
    """Yield the records up to the first that cannot be read: after a crash the last may be unfinished."""
    try:
        yield from read_records(path)
    except VindibotError:
        return


def _output(path: Path) -> Output:
    return page_output(path, INSTEAD)


def _key(game: GameLine) -> GameKey:
    return game.block, game.game


def _is_whole(game: GameLine) -> bool:
    return all(seat.outcome.finished for seat in game.seats)
