"""The page of a game, as one HTML file that needs no other file, or as several files from a server.

The scripts are modules that import each other by names (``viewer/board.js``). An import map in the page tells the browser where
each module is: on the server, or within the page. The page's content security policy allows only scripts with the digests of
the page's own scripts, and nothing from other hosts.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from sim.pictures import sprites
from vindibot.base.pages import render

#: The module that starts the page, and the style sheets. The pages of other packages also link ``theme.css``, so that all pages
#: look alike.
MAIN, THEME = "main.js", "theme.css"
STYLES = THEME, "viewer.css"
#: The module that is made from `sim.pictures.sprites`.
SHAPES = "shapes.js"
#: Media types by the suffix of a file.
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
#: Mark in the first bytes of a self-contained page. It shows that `vindibot replay` made the file.
MARK = '<meta name="generator" content="vindibot replay">'


@cache
def static_files(room: str = "viewer") -> dict[str, bytes]:
    """Return the contents of the scripts and style sheets of a package of `vindibot`, by file name. They are read once per
    process.

    `room` is the name of the package, such as ``viewer``. The viewer's module ``shapes.js`` has the drawings of
    `sim.pictures.sprites`, and its ``theme.css`` begins with the colours of all pages and reports.
    """
    static = sorted((files(f"vindibot.{room}") / "static").iterdir(), key=lambda file: file.name)
    contents = {file.name: file.read_bytes() for file in static if PurePath(file.name).suffix in TYPES}
    if room != "viewer":
        return contents
    theme = render("base/common.css").encode() + contents[THEME]
    return contents | {SHAPES: _shapes(), THEME: theme}


def _shapes() -> bytes:
    """Return the drawings of the things on a board as a JavaScript module."""
    names = "HERO_COLOURS", "CRASHED", "LANDS", "SPRITES"
    return "".join(f"export const {name} = {json.dumps(getattr(sprites, name))};\n" for name in names).encode()


def modules() -> list[str]:
    """Return the file names of the viewer's modules."""
    return [name for name in static_files() if name.endswith(".js")]


def _digest(text: str) -> str:
    """Return the digest of a script or a style, in the form that a content security policy uses."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data_url(name: str) -> str:
    return f"data:text/javascript;base64,{base64.b64encode(static_files()[name]).decode()}"


@dataclass(frozen=True)
class SourceFile:
    """The file of a game that its page offers for download. `path` is the file's path for command lines, empty if unknown."""

    name: str
    content: bytes
    path: str = ""

    def packed(self) -> str:
        """Return the content of the file, gzipped and in base64. Equal contents give equal texts."""
        return base64.b64encode(gzip.compress(self.content, mtime=0)).decode()


def whole_page(bundle: Mapping[str, Any], file: SourceFile | None = None) -> str:
    """Return one HTML file with the game, the style and the scripts. The page loads nothing else.

    The page offers `file` for download.
    """
    style = "".join(static_files()[name].decode() for name in STYLES)
    imports = _import_map({f"viewer/{name}": _data_url(name) for name in modules()})
    policy = (
        f"default-src 'none'; script-src {_digest(imports)} data:; style-src {_digest(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    own = {"mark": MARK, "policy": policy, "style": style, "file": file}
    return render("viewer/whole.html", bundle=bundle, imports=imports, main=_data_url(MAIN), data={}, plain="", **own)


def served_policy(*, framed: bool = False) -> str:
    """Return the Content-Security-Policy for the page from `served_page`.

    If `framed`, any page may show the page in a frame, otherwise no page may.
    """
    ancestors = "*" if framed else "'none'"
    return (
        f"default-src 'none'; script-src 'self' {_digest(served_imports())}; style-src 'self'; img-src 'self' data: blob:; "
        f"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}"
    )


def served_page(
    bundle: Mapping[str, Any], events: str, *, plain: str = "", preview: Mapping[str, str] | None = None, **addresses: str
) -> str:
    """Return the page of a game for a server. The page shows `bundle`, and adds the events from the address `events`.

    The server must serve the page's files below ``/viewer/``. `addresses` are further data attributes of the page: ``home``,
    ``record`` or ``recording`` (the file for download), and ``path`` (the path of this file for command lines). `plain` is the
    address of a page without scripts. `preview` has the properties of the page for other programs that link to it (Open Graph),
    such as ``og:title``.
    """
    data = {"events": events, **addresses}
    return render(
        "viewer/game.html",
        bundle=bundle,
        imports=served_imports(),
        main=f"/viewer/{MAIN}",
        data=data,
        plain=plain,
        preview=preview,
    )


def list_policy() -> str:
    """Return the Content-Security-Policy of a page without an import map. It allows only the server's own styles and scripts."""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )


def served_imports() -> str:
    """Return the import map of the page from `served_page`, as JSON. The pages of other packages can use this map too."""
    return _import_map({f"viewer/{name}": f"/viewer/{name}" for name in modules()})


def _import_map(imports: Mapping[str, str]) -> str:
    return json.dumps({"imports": imports}, separators=(",", ":"))
