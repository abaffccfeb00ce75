"""The results of one bot: its rating over time, and how it played on maps of each size and against each rival.

Only the bot's latest games count, so that the time for a page does not grow with the number of games.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from sim.game import SEATS
from vindibot.server.ratings import winner_of

#: Number of a bot's latest games from which its results are computed. Training games count towards this number, but the results
#: leave them out.
LATEST = 1000
#: Largest number of rivals in the table. The rivals with the most games come first.
RIVALS = 12

_QUERY = """
SELECT games.number, games.finished, games.size, games.gold, seats.seat, seats.bot, seats.elo
FROM (SELECT DISTINCT game FROM seats WHERE bot = ? ORDER BY game DESC LIMIT ?) AS latest
CROSS JOIN games ON games.number = latest.game
CROSS JOIN seats ON seats.game = latest.game
WHERE games.state = 'finished' AND NOT games.training
ORDER BY games.number
"""


@dataclass(frozen=True)
class ArchivedGame:
    """A finished game that is not a training game.

    `finished` is the time of the game's end in seconds since 1970. `size` is the side of the board in squares. `gold` and `bots`
    have one entry per hero. `bots` has the ids of the bots, None for a random bot of the server. `elo` has the Elo of each bot
    after the game, by the bot's id. It is empty if the game was not rated.
    """

    finished: float
    size: int
    gold: tuple[int, ...]
    bots: tuple[str | None, ...]
    elo: dict[str, int] = field(default_factory=dict)

    def gold_of(self, bot: str) -> float:
        """Return the mean gold of the heroes of a bot."""
        own = [gold for gold, owner in zip(self.gold, self.bots, strict=True) if owner == bot]
        return sum(own) / len(own)


@dataclass
class SizeRow:
    """The games of a bot on boards with `size` x `size` squares.

    `games` and `won` are numbers of games. `gold` is the mean gold of the bot's heroes.
    """

    size: int
    games: int = 0
    won: int = 0
    gold: float = 0.0


@dataclass
class RivalRow:
    """The games of a bot with one rival (the id of a bot), compared by gold.

    `won`, `drawn` and `lost` are the numbers of games in which the bot has more, equal or less gold. `lead` is the bot's mean
    lead in gold, negative if the rival leads.
    """

    rival: str
    games: int = 0
    won: int = 0
    drawn: int = 0
    lost: int = 0
    lead: float = 0.0


@dataclass(frozen=True)
class BotResults:
    """The results of a bot in `games` games, by size of the board and by rival.

    `ratings` has one tuple per rated game, oldest first: time of the game's end in seconds since 1970, Elo after the game.
    """

    games: int
    ratings: Sequence[tuple[float, int]]
    sizes: Sequence[SizeRow]
    rivals: Sequence[RivalRow]


def latest_games(connection: sqlite3.Connection, bot: str) -> list[ArchivedGame]:
    """Return the finished games among a bot's `LATEST` games, oldest first. Training games are left out."""
    games = []
    for (_, finished, size, gold), rows in groupby(connection.execute(_QUERY, (bot, LATEST)), itemgetter(0, 1, 2, 3)):
        bots: list[str | None] = [None] * SEATS
        elo = {}
        for *_, seat, player, rating in rows:
            bots[seat] = player
            if rating is not None:
                elo[player] = rating
        games.append(ArchivedGame(finished, size, tuple(json.loads(gold)), tuple(bots), elo))
    return games


def bot_results(bot: str, games: Iterable[ArchivedGame]) -> BotResults:
    """Return the results of a bot in these games. The bot must play in each of them."""
    played = list(games)
    sizes: dict[int, SizeRow] = {}
    rivals: dict[str, RivalRow] = {}
    for game in played:
        own = game.gold_of(bot)
        size = sizes.setdefault(game.size, SizeRow(game.size))
        winner = winner_of(game.gold)
        size.games += 1
        size.won += winner is not None and game.bots[winner] == bot
        size.gold += own
        for rival in {other for other in game.bots if other is not None and other != bot}:
            lead = own - game.gold_of(rival)
            row = rivals.setdefault(rival, RivalRow(rival))
            row.games += 1
            row.won += lead > 0
            row.drawn += lead == 0
            row.lost += lead < 0
            row.lead += lead
    for size in sizes.values():
        size.gold /= size.games
    for row in rivals.values():
        row.lead /= row.games
    return BotResults(
        games=len(played),
        ratings=[(game.finished, game.elo[bot]) for game in played if bot in game.elo],
        sizes=sorted(sizes.values(), key=lambda row: row.size),
        rivals=sorted(rivals.values(), key=lambda row: (-row.games, row.rival))[:RIVALS],
    )
