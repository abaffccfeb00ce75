"""The trait `guard` defends our mines."""

from pydantic import Field

from behaviours import MINE, Behaviour, View, Votes, first_steps


class Guard(Behaviour):
    """Walk to the mine of ours that an enemy will reach first, if the enemy has less life than we have.

    A hero beside its mine strikes every enemy that comes for the mine.
    """

    alarm: int = Field(4, ge=1, le=50, description="largest number of moves between an enemy and a mine that we defend")

    def vote(self, view: View) -> Votes:
        mines = view.map.mines
        ours = mines[view.cells[mines] == MINE + 1 + view.me]
        heroes = [view.game.hero[enemy] for enemy in view.enemies]
        weak = [hero.pos for hero in heroes if hero.life < view.life]
        ways = [(int(view.map.distances[square, mine]), mine) for square in weak for mine in ours]
        moves, mine = min(ways, default=(self.alarm + 1, 0))
        if moves > self.alarm:
            return None
        return dict.fromkeys(first_steps(view, [mine]), 1)
