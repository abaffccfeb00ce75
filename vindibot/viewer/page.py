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
from importlib.resources import files
from typing import Any

from vindibot.base import render

#: The entry among the modules, and the style sheet.
MAIN, STYLE = "main.js", "viewer.css"
#: What files are, by how their names end.
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
#: Stands at the beginning of a page that is a file of its own.
MARK = '<meta name="generator" content="vindibot replay">'


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
    own = {"mark": MARK, "policy": policy, "style": style}
    return render("viewer/whole.html", bundle=bundle, imports=imports, main=_data_url(MAIN), data={}, plain="", **own)


def served_policy() -> str:
    """The Content-Security-Policy that goes with a served page."""
    return (
        f"default-src 'none'; script-src 'self' {_digest(served_imports())}; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def served_page(bundle: Mapping[str, Any], events: str, *, plain: str = "", **addresses: str) -> str:
    """The page whose files are served below ``/viewer/`` and whose game grows by the events from the address `events`.

    `addresses` are further data attributes: ``home``, ``record``. `plain` is the address of a page without scripts.
    """
    data = {"events": events, **addresses}
    return render("viewer/game.html", bundle=bundle, imports=served_imports(), main=f"/viewer/{MAIN}", data=data, plain=plain)


def served_imports() -> str:
    """The import map of a served page, in JSON: where the modules are. For pages of other rooms that use them, too."""
    return _import_map({f"viewer/{name}": f"/viewer/{name}" for name in modules()})


def _import_map(imports: Mapping[str, str]) -> str:
    return json.dumps({"imports": imports}, separators=(",", ":"))
