"""The results of one bot: its rating over time, and how it played on maps of each size and against each rival.

Only the bot's latest games count, so that the time for a page does not grow with the number of games.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

#: Number of a bot's latest games from which its results are computed. Training games count towards this number, but the results
#: leave them out.
LATEST = 1000
#: Largest number of rivals in the table. The rivals with the most games come first.
RIVALS = 12

#: `played` has a row for each bot in each finished game among the latest ones of one bot. `gold` is the mean of the bot's heroes.
_PLAYED = """
WITH latest AS (SELECT DISTINCT game FROM seats WHERE bot = :bot ORDER BY game DESC LIMIT :latest),
played AS MATERIALIZED (
    SELECT seats.game, seats.bot, avg(seats.gold) AS gold, max(seats.elo) AS elo, max(seats.seat IS games.winner) AS won,
        games.size, games.finished
    FROM latest CROSS JOIN games ON games.number = latest.game CROSS JOIN seats ON seats.game = latest.game
    WHERE games.state = 'finished' AND NOT games.training
    GROUP BY seats.game, seats.bot
)
"""
_RATINGS = "SELECT finished, elo FROM played WHERE bot = :bot AND elo IS NOT NULL ORDER BY game"
_SIZES = """
SELECT size, count(*) AS games, sum(won) AS won, avg(gold) AS gold FROM played WHERE bot = :bot GROUP BY size ORDER BY size
"""
_RIVALS = """
SELECT other.bot AS rival, count(*) AS games, sum(own.gold > other.gold) AS won, sum(own.gold = other.gold) AS drawn,
    sum(own.gold < other.gold) AS lost, avg(own.gold - other.gold) AS lead
FROM played AS own JOIN played AS other USING (game) WHERE own.bot = :bot AND other.bot != :bot
GROUP BY rival ORDER BY games DESC, rival LIMIT :rivals
"""


@dataclass(frozen=True)
class BotResults:
    """The results of a bot in `games` games.

    - `ratings` has a tuple per rated game, oldest first: time of the game's end in seconds since 1970, Elo after the game.
    - `sizes` has a row per size of the board: `size` (squares of a side), numbers of `games` and `won` games, mean `gold`.
    - `rivals` has a row per rival: its id `rival`, number of `games`, numbers of games in which the bot had more gold (`won`),
      equal gold (`drawn`) or less gold (`lost`), and its mean `lead` in gold.
    """

    ratings: list[tuple[float, int]]
    sizes: list[sqlite3.Row]
    rivals: list[sqlite3.Row]

    @property
    def games(self) -> int:
        """The number of games."""
        return sum(row["games"] for row in self.sizes)


def bot_results(connection: sqlite3.Connection, bot: str) -> BotResults:
    """Return the results of a bot in the finished games among its `LATEST` games. Training games are left out."""
    cursor = connection.cursor()
    cursor.row_factory = sqlite3.Row
    values = {"bot": bot, "latest": LATEST, "rivals": RIVALS}
    ratings, sizes, rivals = (cursor.execute(_PLAYED + query, values).fetchall() for query in (_RATINGS, _SIZES, _RIVALS))
    return BotResults([tuple(row) for row in ratings], sizes, rivals)
