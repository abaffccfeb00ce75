"""A short game of every bot that ships, kept in tests/data/botgames and compared: a review sees that a bot plays otherwise
than it did, and its version says so.

``python tests/support/botgames.py`` plays them anew. If a bot plays otherwise, and that is meant, raise `version` in its file
first: then results of before and after say which is which.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sim import kernels
from sim.game import DIRECTIONS, RUNNING, Games
from sim.maps import map_of, named_map
from sim.rules import step
from tests.support.paths import TOP
from vindibot.arena.entrants import Limits
from vindibot.arena.seats import InProcessSeat
from vindibot.config.bots import Bot, load_bot
from vindibot.games.ballot import BallotEntry

FOLDER = TOP / "tests" / "data" / "botgames"
_MEASURED = TOP / "docs" / "strength"
#: The bots that ship, and those that were measured with the traits that ship but are in none of them.
BOTS = [
    *sorted((TOP / "config" / "bots").rglob("*.toml")),
    *sorted(_MEASURED.glob("with-*.toml")),
    _MEASURED / "strong-with-classics.toml",
]
MAP, ROUNDS, NODES = "m3", 40, 1000


def file_of(path: Path) -> Path:
    """Where the game of a bot file is kept."""
    return FOLDER / f"{path.stem}.txt"


def transcript(bot: Bot) -> str:
    """The game of four of the same bot: a heading, then a line per round with the moves, gold, mines and life of heroes 1 to 4,
    and a digest of all votes."""
    games = named_map(MAP).new_game(max_turns=4 * ROUNDS)
    seats = [InProcessSeat(bot, Limits(nodes=NODES), seed) for seed in range(4)]
    lines = [f"bot {bot.name}", f"version {bot.version}", f"map {MAP} {map_of(games).digest}", f"nodes {NODES}", ""]
    for me, seat in enumerate(seats):
        seat.start(games, me)
    moves: list[str] = []
    while games[0]["status"] == RUNNING:
        me = int(games[0]["turn"]) % 4
        move = seats[me].move(games)
        step(games, 0, move)
        moves.append(f"{DIRECTIONS[move]:<5}")
        if me == 3:
            votes = [seat.ballot.entries for seat in seats]
            lines.append(f"{len(lines) - 5:>2}  {' '.join(moves)}  {_standing(games)}  votes {_digest(votes)}")
            moves = []
    for seat in seats:
        seat.close()
    return "\n".join(lines) + "\n"


def _digest(votes: list[list[BallotEntry]]) -> str:
    """A digest of votes, to four digits: the last ones of a float may differ between machines."""
    said = [(entry.label, [f"{vote:.4g}" for vote in entry.votes or ()]) for entries in votes for entry in entries]
    return hashlib.sha256(repr(said).encode()).hexdigest()[:8]


def _standing(games: Games) -> str:
    heroes = games[0]["hero"]
    return "  ".join(f"{name} {' '.join(f'{int(value):>3}' for value in heroes[name])}" for name in ("gold", "mines", "life"))


def version_in(text: str) -> int:
    """The version that a transcript was played by; 0 of none."""
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("version ")), 0)


def moves_in(text: str) -> list[str]:
    """The rounds of a transcript."""
    return text.partition("\n\n")[2].splitlines()


def main() -> int:
    """Write what has changed; returns 1 if a bot plays otherwise under the same version."""
    failed = False
    FOLDER.mkdir(exist_ok=True)
    for path in BOTS:
        bot = load_bot(path)
        kernels.warm()
        found, file = transcript(bot), file_of(path)
        before = file.read_text() if file.is_file() else ""
        if before and moves_in(before) != moves_in(found) and version_in(before) == bot.version:
            where, number = path.relative_to(TOP), bot.version
            print(f"{where}: it plays otherwise than version {number} did: set version = {number + 1} in it")
            failed = True
        elif before != found:
            file.write_text(found)
            print(f"{file.relative_to(TOP)}: written")
    for file in FOLDER.glob("*.txt"):
        if file not in map(file_of, BOTS):
            file.unlink()
            print(f"{file.relative_to(TOP)}: removed, since there is no such bot")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
