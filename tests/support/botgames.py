"""Stores a short game of every shipped bot in tests/data/botgames. A test compares: if a bot plays differently, its version must
be raised.

``python tests/support/botgames.py`` plays the games anew. If a bot is meant to play differently, first raise `version` in its
file. Then results show which version played.
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
from vindibot.arena.seats.bots import InProcessSeat
from vindibot.arena.seats.entrants import Limits
from vindibot.config.bots import Bot, load_bot
from vindibot.games.ballot import BallotEntry

FOLDER = TOP / "tests" / "data" / "botgames"
_MEASURED = TOP / "docs" / "strength"
#: The shipped bots, and the bots for measurements of further traits.
BOTS = [
    *sorted((TOP / "config" / "bots").rglob("*.toml")),
    *sorted(_MEASURED.glob("with-*.toml")),
    _MEASURED / "strong-with-classics.toml",
]
MAP, ROUNDS, NODES = "m3", 40, 1000


def file_of(path: Path) -> Path:
    """Return the path of the stored game of a bot file."""
    return FOLDER / f"{path.stem}.txt"


def transcript(bot: Bot) -> str:
    """Return a game of the bot against itself as text.

    It has a heading, then a line per round with the moves, gold, mines and life of heroes 1 to 4 and a digest of all votes.
    """
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
    """Return a digest of votes, rounded to four digits, because the last digits of a float may differ between machines."""
    said = [(entry.label, [f"{vote:.4g}" for vote in entry.votes or ()]) for entries in votes for entry in entries]
    return hashlib.sha256(repr(said).encode()).hexdigest()[:8]


def _standing(games: Games) -> str:
    heroes = games[0]["hero"]
    return "  ".join(f"{name} {' '.join(f'{int(value):>3}' for value in heroes[name])}" for name in ("gold", "mines", "life"))


def version_in(text: str) -> int:
    """Return the bot's version in a transcript, 0 if there is none."""
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("version ")), 0)


def moves_in(text: str) -> list[str]:
    """Return the lines of a transcript that show rounds."""
    return text.partition("\n\n")[2].splitlines()


def main() -> int:
    """Write the games that have changed. Return 1 if a bot plays differently but has the same version."""
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
