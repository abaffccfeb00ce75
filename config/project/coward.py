"""A trait of my own: rename it, change it, add more traits."""

from pydantic import Field

from behaviours import Behaviour, View, Votes


class Coward(Behaviour):
    """Do not end a move beside an enemy."""

    fear: float = Field(1.0, ge=0, le=10, description="vote against a square, per enemy beside it")

    def vote(self, view: View) -> Votes:
        return {move: -self.fear * len(view.enemies_beside(view.landing(move))) for move in view.moves}
