"""The fillers of a league: bots that come with vindibot and play for missing bots. They are not in the standings.

A filler is a client of the server, like the bots of the league. It waits in the league until a game needs it.
"""

from __future__ import annotations

from vindibot.server.match import Claim
from vindibot.server.users import User

#: Seconds without any filler after which random bots of the server play instead.
WAIT_SECONDS = 60.0


class Fillers:
    """The fillers of one league: `claims` are their waiting clients, in the order in which they came.

    `playing` is the number of fillers in running games. `changed` is the event loop's time at which a filler last came or ended a
    game, or at which the league began to wait for fillers.
    """

    def __init__(self) -> None:
        self.claims: list[Claim] = []
        self.playing = 0
        self.changed = 0.0
        self._users: set[str] = set()

    def add(self, user: User) -> None:
        """Let the clients of this user be fillers."""
        self._users.add(user.id)

    def has(self, user: User) -> bool:
        """Return whether this user is a filler."""
        return user.id in self._users

    def ready(self, count: int) -> bool:
        """Return whether `count` fillers wait."""
        return len(self.claims) >= count

    def expected(self, now: float) -> bool:
        """Return whether more fillers may soon wait. `now` is the event loop's time."""
        return bool(self._users) and (self.playing > 0 or now - self.changed < WAIT_SECONDS)

    def take(self, count: int) -> list[Claim]:
        """Remove up to `count` waiting clients, the one that waits longest first, and return them."""
        taken, self.claims = self.claims[:count], self.claims[count:]
        return taken
