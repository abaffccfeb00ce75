"""Search: alpha-beta over the exact rules, as a trait.

`engine` is the search of one move to one depth, `records` its memory and `ordering` what it tries first; `deepening` asks it
for every direction and every depth, `contact` says which opponents are worth searching, and `Search` makes votes of the scores.
"""

from behaviours.search.trait import Search

__all__ = ["Search"]
