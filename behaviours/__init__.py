"""Traits, and everything that the author of a trait imports: ``from behaviours import Behaviour, View, Votes``.

The package offers these names. Each name is loaded at its first use:

- for every trait: `Behaviour`, `View`, `Votes`, and the directions `STAY`, `NORTH`, `SOUTH`, `EAST`, `WEST`;
- for anytime traits and searches: `Budget`, `SearchInfo`, `SplitBehaviour`, `Answer`;
- about votes: `plain_votes`, `VoteError`; about the last turns: `RECENT_TURNS`;
- about the board: `Game`, `Map`, `square`, `row_column`, the tiles `AIR`, `WALL`, `TAVERN`, `MINE`, and constants of the rules
  such as `BLOW`;
- estimates of fights: `duel`, `combat_map`;
- for compiled code: `entry`, `kernel`, `GAMES`, `play`, `undo`, `has_effect`, and random numbers.

`vindibot.testing` has helpers for the tests of a trait.
"""

from importlib.util import find_spec
from pathlib import Path

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def _check_packages() -> None:
    """Raise ImportError if Python would not import ``sim`` and ``vindibot`` from the folder that holds this package.

    With ``python -m pytest``, Python searches the current folder first. There, a folder or file named ``sim`` or ``vindibot``
    hides our package of the same name.
    """
    here = Path(__file__).resolve().parent.parent
    for name in ("sim", "vindibot"):
        spec = find_spec(name)
        found = Path(spec.origin).resolve() if spec is not None and spec.origin else here / name
        if here not in found.parents:
            hides = found.parent if found.name == "__init__.py" else found
            raise ImportError(f"{hides} hides the package {name!r} of vindibot: give it another name")


_check_packages()
