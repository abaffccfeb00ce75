"""Pages of games beside the report: one HTML file per game, which shows the game in the viewer.

Only some games get a page, so that a long tournament does not fill the disk. `vindibot replay` makes the page of any other game
from the file of game records.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from vindibot.arena.results import GameLine, that_count
from vindibot.arena.store import INSTEAD, replays_path
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.writing import short
from vindibot.games.files.game_files import read_records, records_path
from vindibot.games.game_record import GameRecord
from vindibot.viewer.replay import page_output, record_page

#: The number of a game's block, and the number of the game in the block.
GameKey = tuple[int, int]


def page_name(key: GameKey) -> str:
    """Return the file name of a game's page: ``block3-game2.html``."""
    return f"block{key[0]}-game{key[1]}.html"


def check_pages(results: Path) -> None:
    """Raise `UsageError` if the pages of games cannot be written without replacing a file that the arena did not make.

    `results` is the path of the results file.
    """
    folder = replays_path(results)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{short(folder)} is there already and is no folder: move it away, or {INSTEAD}")
    for path in sorted(folder.glob("block*-game*.html")):
        page_output(path, INSTEAD).check()


def choose(games: Sequence[GameLine], most: int) -> list[GameLine]:
    """Return at most `most` games that have records, in descending order of block and number.

    At most half of them are the latest games with forfeits. The others are the latest games of any kind that were played.
    """
    latest = sorted((game for game in that_count(games) if game.record), key=lambda game: game.key, reverse=True)
    chosen = {game.key: game for game in [game for game in latest if game.has_forfeits][: most // 2]}
    for game in latest:
        if len(chosen) < most:
            chosen[game.key] = game
    return [chosen[key] for key in sorted(chosen, reverse=True)]


def write_pages(results: Path, games: Sequence[GameLine], most: int) -> dict[GameKey, Path]:
    """Write the pages of at most `most` games (see `choose`) beside the results. Return their paths by block and number.

    A game without a readable record has no page. Raises `UsageError` or `VindibotError` if a page cannot be written.
    """
    chosen = choose(games, most)
    records = records_of(results, {game.record for game in chosen})
    pages: dict[GameKey, Path] = {}
    for game in chosen:
        try:
            page = record_page(records[game.record])
        except (KeyError, VindibotError):  # the game has no record, was aborted, or its record is damaged
            continue
        path = replays_path(results) / page_name(game.key)
        page_output(path, INSTEAD).write(page)
        pages[game.key] = path
    return pages


def records_of(results: Path, wanted: Collection[str]) -> dict[str, GameRecord]:
    """Return the game records whose ids are in `wanted`, by id. If two records have the same id, the last one counts.

    `results` is the path of the results file. Reading stops at the first record that cannot be read, because the last record may
    be unfinished after a crash.
    """
    found: dict[str, GameRecord] = {}
    with suppress(VindibotError):
        found.update((record.id, record) for record in read_records(records_path(results)) if record.id in wanted)
    return found
