"""The arena: plays bots against each other in many games, and says which is better and how sure that is.

For others it has its standard set of maps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vindibot.arena.mapsets import standard_maps

__all__ = ["standard_maps"]


def __getattr__(name: str) -> Any:
    # Imported when it is asked for: the command line looks at the arena's settings without loading any kernel.
    if name == "standard_maps":
        from vindibot.arena.mapsets import standard_maps

        return standard_maps
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
