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

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from behaviours.names import *  # noqa: F403 - the names are listed there, once


def __getattr__(name: str) -> Any:
    """Return a name that the package offers. Numba is loaded with the first of them, so the command line starts without it."""
    if name == "__all__" or (not name.startswith("_") and name in __dir__()):
        return __dir__() if name == "__all__" else getattr(import_module("behaviours.names"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [name for name in vars(import_module("behaviours.names")) if not name.startswith("_")]


def _check_packages() -> None:
    """Raise ImportError if Python would not import ``sim`` and ``vindibot`` from the folder that holds this package.

    With ``python -m pytest``, Python searches the current folder first. There, a folder or file named ``sim`` or ``vindibot``
    hides our package of the same name.
    """
    parent = Path(__file__).resolve().parent.parent
    for name in ("sim", "vindibot"):
        spec = find_spec(name)
        location = Path(spec.origin).resolve() if spec is not None and spec.origin else parent / name
        if parent not in location.parents:
            hides = location.parent if location.name == "__init__.py" else location
            raise ImportError(f"{hides} hides the package {name!r} of vindibot: give it another name")
    import_module("sim")  # which says what to do if all of this lies in a zip file


_check_packages()
