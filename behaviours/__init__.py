"""Traits, and all that an author of a trait imports: ``from behaviours import Behaviour, View, Votes``.

Names are loaded when they are first used. They are

- for every trait: `Behaviour`, `View`, `Votes`, the directions `STAY` to `WEST`;
- for anytime traits and searches: `Budget`, `SearchInfo`, `Answer`;
- about votes: `plain_votes`, `VoteError`; about the past: `RECENT_TURNS`;
- about the board: `Game`, `Map`, `square`, `row_column`, the tiles `AIR` to `MINE`, and numbers of the rules (`BLOW` and others);
- judgements of a board: `duel`, `combat_map`;
- for compiled code: `entry`, `kernel`, `GAMES`, `play`, `has_effect`, and random numbers.

`vindibot.testing` has what the tests of a trait need.
"""

from importlib.util import find_spec
from pathlib import Path

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def _check_packages() -> None:
    """Raise ImportError if another ``sim`` or ``vindibot`` than the one beside this package would be imported.

    Python puts the current folder first (``python -m pytest``), so a folder of that name there hides ours.
    """
    here = Path(__file__).resolve().parent.parent
    for name in ("sim", "vindibot"):
        spec = find_spec(name)
        found = Path(spec.origin).resolve() if spec is not None and spec.origin else here / name
        if here not in found.parents:
            hides = found.parent if found.name == "__init__.py" else found
            raise ImportError(f"{hides} hides the package {name!r} of vindibot: give it another name")


_check_packages()
