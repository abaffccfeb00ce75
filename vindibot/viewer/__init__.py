"""The viewer: games as data for a page (`docs/viewer-format.md`), and the page itself.

Names are imported when they are first asked for, so that the command line and the server load only what they need.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vindibot.viewer.bundle import Bundle, Patch, head, played, record_head
    from vindibot.viewer.chronicle import Chronicle
    from vindibot.viewer.live import LiveGame, LiveViewer
    from vindibot.viewer.page import TYPES, served_head, served_page, served_policy, static_files
    from vindibot.viewer.states import Scribe, ending_of, results
    from vindibot.viewer.why import Reasons

__all__ = [
    "TYPES",
    "Bundle",
    "Chronicle",
    "LiveGame",
    "LiveViewer",
    "Patch",
    "Reasons",
    "Scribe",
    "ending_of",
    "head",
    "played",
    "record_head",
    "results",
    "served_head",
    "served_page",
    "served_policy",
    "static_files",
]

_HOMES = {
    "bundle": ["Bundle", "Patch", "head", "played", "record_head"],
    "chronicle": ["Chronicle"],
    "live": ["LiveGame", "LiveViewer"],
    "page": ["TYPES", "served_head", "served_page", "served_policy", "static_files"],
    "states": ["Scribe", "ending_of", "results"],
    "why": ["Reasons"],
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"vindibot.viewer.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
