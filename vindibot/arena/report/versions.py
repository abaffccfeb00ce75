"""Versions: the builds and bot versions that played the games in a file, and what has changed since then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from vindibot.arena.results import GameLine
from vindibot.arena.seats.entrants import Entrant
from vindibot.config.signature import Build


def changes(before: Sequence[GameLine], build: Build, entrants: Iterable[Entrant]) -> list[str]:
    """Return what has changed in the build and the bots since the last games in a file, one phrase per change.

    `before` are the games in the file. `build` and `entrants` are the current build and the current bots.
    """
    if not before:
        return []
    last = before[-1].build
    found = ["the build that played them was not recorded"] if last is None else build.changes(last)
    digests = {seat.bot: (seat.version, seat.digest) for line in before for seat in line.seats}
    for entrant in entrants:
        version, digest = digests.get(entrant.label, (entrant.version, entrant.digest))
        if digest != entrant.digest:
            numbers = f" (version {version}, now {entrant.version})" if version != entrant.version else ""
            found.append(f"the files of {entrant.label} have changed{numbers}")
    return found


def builds(games: Iterable[GameLine]) -> list[Build]:
    """Return the different builds that played these games, sorted by their first game."""
    return list(dict.fromkeys(game.build for game in games if game.build is not None))


def mixed_versions(games: Sequence[GameLine]) -> str:
    """Return a warning if several builds, or several versions of a bot, played these games. Otherwise return ""."""
    count = len({game.build for game in games})
    found = [f"{count} builds of vindibot"] if count > 1 else []
    digests: defaultdict[str, set[str]] = defaultdict(set)
    for game in games:
        for seat in game.seats:
            digests[seat.bot].add(seat.digest)
    found += [f"{len(versions)} versions of {bot}" for bot, versions in digests.items() if len(versions) > 1]
    return f"these games were played by {' and '.join(found)}: the table mixes them" if found else ""
