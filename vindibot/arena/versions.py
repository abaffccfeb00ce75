"""Which builds and which versions of bots played the games of a file, and what has changed since."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vindibot.arena.entrants import Entrant
from vindibot.arena.results import GameLine
from vindibot.config import Build


def changes(before: Sequence[GameLine], build: Build, entrants: Iterable[Entrant]) -> list[str]:
    """How this build and these bots differ from those of the last games of a file, in words; empty if they do not."""
    if not before:
        return []
    last = before[-1].build
    found = ["their build was not kept"] if last is None else build.changes(last)
    digests = {seat.bot: (seat.version, seat.digest) for line in before for seat in line.seats}
    for entrant in entrants:
        version, digest = digests.get(entrant.label, (entrant.version, entrant.digest))
        if digest != entrant.digest:
            numbers = f" (version {version}, now {entrant.version})" if version != entrant.version else ""
            found.append(f"the files of {entrant.label} have changed{numbers}")
    return found


def builds(games: Iterable[GameLine]) -> list[Build]:
    """The builds that played these games, in the order of their first games."""
    return list(dict.fromkeys(game.build for game in games if game.build is not None))


def mixed_versions(games: Sequence[GameLine]) -> str:
    """A sentence about games of several builds or of several versions of a bot; empty if there is one of each."""
    count = len({game.build for game in games})
    found = [f"{count} builds of vindibot"] if count > 1 else []
    digests: dict[str, set[str]] = {}
    for game in games:
        for seat in game.seats:
            digests.setdefault(seat.bot, set()).add(seat.digest)
    found += [f"{len(some)} versions of {bot}" for bot, some in digests.items() if len(some) > 1]
    return f"these games were played by {' and '.join(found)}: the table mixes them" if found else ""
