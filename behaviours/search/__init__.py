"""The trait `search`: alpha-beta over the exact rules.

- `engine`: the search of one move to one depth. `records`: the memory of the engine. `ordering`: the order of moves.
- `deepening`: calls the engine for every direction and every depth.
- `contact`: chooses the opponents whose moves are searched.
- `trait`: `Search`, which turns the scores into votes.
"""

from behaviours.search.trait import Search

__all__ = ["Search"]
