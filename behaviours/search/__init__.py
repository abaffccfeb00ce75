"""The trait `search`: alpha-beta over the exact rules.

- `engine`: the search of one move to one depth. `records`: its memory, and the order of moves.
- `deepening`: calls the engine for every direction and every depth.
- `trait`: `Search`, which chooses the opponents that are searched, and turns the scores into votes.
"""
