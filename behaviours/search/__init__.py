"""Search: alpha-beta over the exact rules, as a trait.

`engine` searches one move to one depth, `records` is its memory, `ordering` sorts moves. `deepening` calls it for every direction
and every depth. `contact` names the opponents worth searching. `Search` turns the scores into votes.
"""

from behaviours.search.trait import Search

__all__ = ["Search"]
