"""The page of a game: one HTML file with everything in it, or the same page as files of a server.

The scripts are plain modules which import each other by names (``viewer/board.js``). An import map in the page says where they
are: on a server, or, in a file of its own, within the page. Either way the page's policy lets in what is its own, by
digest, and nothing from any other host.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

#: The entry among the modules, and the style sheet.
MAIN, STYLE = "main.js", "viewer.css"
#: What files are, by how their names end.
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
#: Stands at the beginning of a page that is a file of its own.
MARK = '<meta name="generator" content="vindibot replay">'
_SCALABLE = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
_ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E"
    "%3Crect width='8' height='8' rx='2' fill='%2357ab5a'/%3E%3Cpath d='M2 2l2 4 2-4' stroke='%23fff' fill='none'/%3E%3C/svg%3E"
)


@cache
def static_files() -> dict[str, bytes]:
    """The page's own files by name. Read once per process."""
    folder = files("vindibot.viewer") / "static"
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir(), key=lambda file: file.name) if _is_ours(file.name)}


def _is_ours(name: str) -> bool:
    return any(name.endswith(suffix) for suffix in TYPES)


def modules() -> list[str]:
    """The names of the modules."""
    return [name for name in static_files() if name.endswith(".js")]


def json_for_html(value: Any) -> str:
    """JSON that can stand in a script element, whatever texts it holds: ASCII without a single <, > or &."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _digest(text: str) -> str:
    """A script or style as the policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data_url(name: str) -> str:
    return f"data:text/javascript;base64,{base64.b64encode(static_files()[name]).decode()}"


def whole_page(bundle: Mapping[str, Any]) -> str:
    """One HTML file with the game, the style and the scripts in it; it asks nobody for anything."""
    style = static_files()[STYLE].decode()
    imports = _import_map({f"viewer/{name}": _data_url(name) for name in modules()})
    policy = (
        f"default-src 'none'; script-src {_digest(imports)} data:; style-src {_digest(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = (
        f'{MARK}<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'
        f'<style>{style}</style>\n<script type="importmap">{imports}</script>'
    )
    return _page(bundle, _head(bundle["title"], head), _data_url(MAIN), {})


def served_policy() -> str:
    """The Content-Security-Policy that goes with a served page."""
    imports = _import_map(_served_imports())
    return (
        f"default-src 'none'; script-src 'self' {_digest(imports)}; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def served_page(bundle: Mapping[str, Any], events: str, *, plain: str = "", **addresses: str) -> str:
    """The page whose files are served below ``/viewer/`` and whose game grows by the events from the address `events`.

    `addresses` are further data attributes: ``home``, ``record``. `plain` is the address of a page without scripts.
    """
    return _page(bundle, served_head(bundle["title"]), f"/viewer/{MAIN}", {"events": events, **addresses}, plain)


def served_head(title: str) -> str:
    """What stands in the head of a served page, of this one and of others that use its style and modules."""
    imports = _import_map(_served_imports())
    return _head(title, f'<link rel="stylesheet" href="/viewer/{STYLE}">\n<script type="importmap">{imports}</script>')


def _head(title: str, own: str) -> str:
    return f'{_SCALABLE}\n<title>{escape(title)}</title><link rel="icon" href="{_ICON}">{own}'


def _served_imports() -> dict[str, str]:
    return {f"viewer/{name}": f"/viewer/{name}" for name in modules()}


def _import_map(imports: Mapping[str, str]) -> str:
    return json.dumps({"imports": imports}, separators=(",", ":"))


def _page(bundle: Mapping[str, Any], head: str, main: str, data: Mapping[str, str], plain: str = "") -> str:
    attributes = "".join(f' data-{name}="{escape(address)}"' for name, address in data.items())
    instead = f' <a href="{escape(plain)}">The game as text</a>' if plain else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n<main id="viewer"></main>\n'
        f"<noscript><p>This page needs scripts.{instead}</p></noscript>\n"
        f'<script type="application/json" id="game"{attributes}>{json_for_html(bundle)}</script>\n'
        f'<script type="module" src="{main}"></script>\n</body></html>\n'
    )
