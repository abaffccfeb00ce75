"""The proof of a build. A machine makes it before it plays games of a tournament.

If two machines have equal proofs, they run the same program, and have played the same fixed games with the same moves. If a
processor rounds numbers differently, the fixed games usually show this before the machine plays for the tournament.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sim.cache import sources
from sim.generator import derive_seed
from vindibot.arena.games import play_task
from vindibot.arena.schedule import GameTask, SeatTask
from vindibot.arena.seats.entrants import Entrant, Limits
from vindibot.config.bots import load_bot
from vindibot.config.files import shipped
from vindibot.config.maps import standard_maps
from vindibot.config.signature import Build, build, digest_of

#: The packages whose sources are in the digest of the code.
PACKAGES = ("sim", "behaviours", "vindibot")
#: The bots of the fixed games (hero 1 first).
BOTS = ("strong", "searcher", "malvert", "seed")
#: Search nodes per move, rounds per game, and number of the fixed games.
NODES, ROUNDS, GAMES = 2000, 40, 3


@dataclass(frozen=True)
class BuildProof:
    """The versions of a build, a digest of its whole code, and a digest of the moves of the fixed games."""

    build: Build
    code: str
    moves: str

    @property
    def signature(self) -> str:
        """A digest of all fields, as 16 hexadecimal digits."""
        return digest_of(asdict(self))

    def differences(self, other: BuildProof) -> list[str]:
        """Return the differences of `other` from this proof, one text per difference. Return [] if the proofs are equal.

        `other` is the proof of another machine. If the versions or the code differ, the moves are expected to differ. Then the
        moves are not compared.
        """
        here, there = asdict(self.build), asdict(other.build)
        found = [f"{name} is {there[name]} there and {here[name]} here" for name in here if here[name] != there[name]]
        if self.code != other.code and here["sources"] == there["sources"]:
            found.append(f"the sources of vindibot have the digest {other.code} there and {self.code} here")
        if not found and self.moves != other.moves:
            found.append(
                "its moves in the fixed games differ, though its program is the same: its processor rounds numbers differently"
            )
        return found


def fixed_games() -> list[GameTask]:
    """Return the fixed games. They depend only on the package."""
    limits = Limits(nodes=NODES)
    entrants = [Entrant(name, "bot", limits, load_bot(shipped(f"bots/{name}.toml"))) for name in BOTS]
    maps = standard_maps()
    return [
        GameTask(
            tournament="",
            format="all",
            block=0,
            game=number,
            games=GAMES,
            map_text=maps[9 * number].text(),
            map_name=maps[9 * number].name,
            seed=number,
            rounds=ROUNDS,
            seats=tuple(SeatTask(entrant, derive_seed(number, entrant.label)) for entrant in entrants),
        )
        for number in range(GAMES)
    ]


def prove() -> BuildProof:
    """Play the fixed games, and return the proof of this machine's build. Takes some seconds."""
    moves = [play_task(task).line.played for task in fixed_games()]
    return BuildProof(build(), sources.digest(PACKAGES), digest_of(moves))
