"""Traits that break one promise each; `vindibot.testing.check_trait` must see it."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from pydantic import PrivateAttr

from behaviours import STAY, Answer, Behaviour, SearchInfo, View, Votes

turns = 0


class Remembers(Behaviour):
    """Keeps something beside its parameters."""

    _since: float = PrivateAttr(default_factory=time.monotonic)

    def vote(self, view: View) -> Votes:
        return STAY


class Outer:
    """A home for a class that is not at the top of its module, but can be reached."""

    class Inner(Behaviour):
        def vote(self, view: View) -> Votes:
            return dict.fromkeys(view.moves, 1.0)


class Divides(Behaviour):
    """Fine as long as nobody has died out."""

    def vote(self, view: View) -> Votes:
        return [1.0, 0.0, 0.0, 0.0, 1.0 / len(view.enemies)]


class Doomed(Behaviour):
    """Fine until the last turn."""

    def vote(self, view: View) -> Votes:
        return [float("nan") if view.moves_left <= 1 else 1.0, 0, 0, 0, 0]


class Halfway(Behaviour):
    """Its second answer is none."""

    def vote(self, view: View) -> Iterator[Votes]:
        yield STAY
        yield "north"


class Muddled(Behaviour):
    """A thought that is none."""

    def vote(self, view: View) -> Answer:
        return SearchInfo(STAY, depth=-1)


class Endless(Behaviour):
    """Yields for ever, whatever the nodes."""

    def vote(self, view: View) -> Iterator[Votes]:
        while not view.budget.expired():
            yield STAY


class Deaf(Behaviour):
    """Counts nodes, but does not look at the stop word."""

    seconds: float = 0.4

    def vote(self, view: View) -> Votes:
        if view.budget.nodes is None:
            time.sleep(self.seconds)
        return STAY


class Warms(Behaviour):
    """Prepares at its first turn what it should have at import."""

    seconds: float = 0.4

    def vote(self, view: View) -> Votes:
        global turns
        if not turns:
            time.sleep(self.seconds)
        turns = 1
        return STAY


class Counts(Behaviour):
    """Remembers from turn to turn, in its module."""

    def vote(self, view: View) -> Votes:
        global turns
        turns += 1
        return [float(turns), 0, 0, 0, 0]


class Gambles(Behaviour):
    """Draws from the random numbers that everybody shares."""

    def vote(self, view: View) -> Votes:
        return [random.random(), 0, 0, 0, 0]


class Hashes(Behaviour):
    """Goes through a set of words in the order it has in this process."""

    def vote(self, view: View) -> Votes:
        words = {f"word {number}" for number in range(50)}
        return [float(word[5:]) for word in list(words)[:5]]


class Scribbles(Behaviour):
    """Changes what it was shown."""

    what: str = "game"

    def vote(self, view: View) -> Votes:
        if self.what == "game":
            view.games["hero"]["gold"][0, view.me] += 1
        elif self.what == "history" and len(view.recent):
            view.recent[0]["turn"] += 1
        elif self.what == "after":
            view.after(STAY)["turn"][0] += 1
        elif self.what == "budget":
            view.budget.stop[0] = 1
        elif self.what == "view":
            view.plan = 1
        return STAY
