"""Traits that say something and mark squares."""

from __future__ import annotations

import time
from collections.abc import Iterator

from behaviours import Behaviour, View, Votes

SCRIPT = "</script><script>alert(1)</script>"


class Speaks(Behaviour):
    """Says its text and marks a square `count` times, then votes for Stay."""

    text: str = SCRIPT
    count: int = 1

    def vote(self, view: View) -> Votes:
        for _ in range(self.count):
            view.note(self.text)
            view.mark(view.pos, f"life {view.life}")
        return 0


class SpeaksThenRaises(Behaviour):
    def vote(self, view: View) -> Votes:
        view.note("about to fail")
        raise RuntimeError("as said")


class MarksOutside(Behaviour):
    square: int = 0

    def vote(self, view: View) -> Votes:
        view.mark(self.square, "nowhere")
        return 1


class ThinksAloud(Behaviour):
    """Anytime: says what it does before each answer, then hangs or returns."""

    hang: bool = False

    def vote(self, view: View) -> Iterator[Votes]:
        for step in range(3):
            view.note(f"step {step}")
            yield {0: 1.0 + step}
        while self.hang:
            time.sleep(3600)
