"""The fillers of a league: bots that come with vindibot and play for missing bots. They are not in the standings.

A filler is a client of the server, like the bots of the league. It waits in the league until a game needs it.
"""

from __future__ import annotations

from itertools import islice

from vindibot.server.match import Claim
from vindibot.server.users import User

#: Seconds without any filler after which random bots of the server play instead.
WAIT_SECONDS = 60.0


class Fillers:
    """The fillers of one league, which take turns in the order of the setting `fillers` with its number of `bots`.

    `claims` are their waiting clients, in the order in which they came, and `playing` is the number of fillers in running games.
    `changed` is the event loop's time at which a filler last came or ended a game, or at which the league began to wait for
    fillers.
    """

    def __init__(self, bots: int) -> None:
        self.claims: list[Claim] = []
        self.playing = 0
        self.changed = 0.0
        self._bots = bots
        self._next = 0  # index of the bot whose turn it is
        self._users: dict[str, int] = {}  # the index of each user's bot, by the user's id

    def add(self, user: User, bot: int) -> None:
        """Let the clients of this user be fillers. `bot` is the index of the user's bot in the setting `fillers`."""
        self._users[user.id] = bot

    def has(self, user: User) -> bool:
        """Return whether this user is a filler."""
        return user.id in self._users

    def ready(self, count: int) -> bool:
        """Return whether fillers of the next `count` bots wait."""
        return len(self._in_turn(count)) == count

    def expected(self, now: float) -> bool:
        """Return whether more fillers may soon wait. `now` is the event loop's time."""
        return bool(self._users) and (self.playing > 0 or now - self.changed < WAIT_SECONDS)

    def take(self, count: int) -> list[Claim]:
        """Remove up to `count` waiting clients and return them: those of the next bots, then others in the order they came."""
        taken = self._in_turn(count)
        taken += [claim for claim in self.claims if claim not in taken][: count - len(taken)]
        self.claims = [claim for claim in self.claims if claim not in taken]
        self._next += count
        return taken

    def _in_turn(self, count: int) -> list[Claim]:
        """Return a waiting client of each of the next `count` bots. Leave out bots of which no client waits."""
        clients: list[Claim] = []
        for turn in range(self._next, self._next + count):
            waiting = (claim for claim in self.claims if self._users[claim.user.id] == turn % self._bots and claim not in clients)
            clients += islice(waiting, 1)
        return clients
