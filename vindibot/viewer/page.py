"""The page of a game, as one HTML file that needs no other file, or as several files from a server.

The scripts are modules that import each other by relative addresses. A server sends each module as a file; for one HTML file the
modules are joined into one script. The page's content security policy allows only scripts of its own server, in a file only
those with the digests of its own script, and nothing from other hosts.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePath
from posixpath import normpath
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from sim.pictures import sprites
from vindibot.base.pages import render

#: The module that starts the page, and the style sheets. All pages link the theme, so that they look alike.
MAIN, THEME = "pages/game.js", "core/theme.css"
STYLES = THEME, "pages/viewer.css"
#: The module that is made from `sim.pictures.sprites`.
SHAPES = "board/shapes.js"
#: An import of a module, and its exports: one by one, and in a list.
_IMPORT = re.compile(r"^import \{([^}]*)\} from '(\.[\w./]+)';$", re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:class|const|function) (\w+)", re.MULTILINE)
_EXPORTS = re.compile(r"^export \{ ([^}]*) \};$", re.MULTILINE)
#: Media types by the suffix of a file.
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
#: Mark in the first bytes of a self-contained page. It shows that `vindibot replay` made the file.
MARK = '<meta name="generator" content="vindibot replay">'


@cache
def static_files() -> dict[str, bytes]:
    """Return the contents of the scripts and style sheets of all pages, by their path (``core/dom.js``). They are read once per
    process.

    The module `SHAPES` has the drawings of `sim.pictures.sprites`, and `THEME` begins with the colours of all pages and reports.
    """
    folders = sorted((files("vindibot.viewer") / "static").iterdir(), key=lambda folder: folder.name)
    contents = {f"{folder.name}/{file.name}": file.read_bytes() for folder in folders for file in folder.iterdir()}
    theme = render("base/common.css").encode() + contents[THEME]
    return contents | {SHAPES: _shapes(), THEME: theme}


def _shapes() -> bytes:
    """Return the drawings of the things on a board as a JavaScript module."""
    names = "HERO_COLOURS", "CRASHED", "LANDS", "SPRITES"
    return "".join(f"export const {name} = {json.dumps(getattr(sprites, name))};\n" for name in names).encode()


def file_response(request: Request, name: str) -> Response | None:
    """Return the response to a request below ``/viewer/`` for a file of `static_files`, None if there is no such file.

    A browser keeps the file, asks each time whether it is still valid (ETag), and then gets an answer without content.
    """
    content = static_files().get(name)
    if content is None:
        return None
    headers = {
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-cache",
        "ETag": f'"{hashlib.sha256(content).hexdigest()}"',
    }
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=TYPES[PurePath(name).suffix], headers=headers)


@cache
def joined_script(main: str = MAIN) -> str:
    """Return `main` and all modules that it imports as one script. Each module is a function that returns what it exports."""
    joined: dict[str, str] = {}

    def join(name: str) -> None:
        def path(imported: str) -> str:
            return normpath(f"{name}/../{imported}")

        source = static_files()[name].decode()
        for _, imported in _IMPORT.findall(source):
            if path(imported) not in joined:
                join(path(imported))
        names = [*_EXPORT.findall(source), *", ".join(_EXPORTS.findall(source)).split(", ")]
        source = _IMPORT.sub(lambda match: f"const {{{match[1].replace(' as ', ': ')}}} = modules['{path(match[2])}'];", source)
        body = re.sub(r"^export ", "", _EXPORTS.sub("", source), flags=re.MULTILINE)
        joined[name] = f"modules['{name}'] = (() => {{\n{body}return {{ {', '.join(filter(None, names))} }};\n}})();\n"

    join(main)
    return "\nconst modules = (window.vindibotModules = {});\n" + "".join(joined.values())


def _digest(text: str) -> str:
    """Return the digest of a script or a style, in the form that a content security policy uses."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@dataclass(frozen=True)
class SourceFile:
    """The file of a game that its page offers for download."""

    name: str
    content: bytes

    def packed(self) -> str:
        """Return the content of the file, gzipped and in base64. Equal contents give equal texts."""
        return base64.b64encode(gzip.compress(self.content, mtime=0)).decode()


def whole_page(bundle: Mapping[str, Any], file: SourceFile | None = None) -> str:
    """Return one HTML file with the game, the style and the scripts. The page loads nothing else.

    The page offers `file` for download.
    """
    style = "".join(static_files()[name].decode() for name in STYLES)
    script = joined_script()
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    own = {"mark": MARK, "policy": policy, "style": style, "script": script, "file": file}
    return render("viewer/whole.html", bundle=bundle, data={}, plain="", **own)


def served_policy(*, framed: bool = False) -> str:
    """Return the Content-Security-Policy for the page from `served_page`.

    If `framed`, any page may show the page in a frame, otherwise no page may.
    """
    ancestors = "*" if framed else "'none'"
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        f"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}"
    )


def served_page(
    bundle: Mapping[str, Any], events: str, *, plain: str = "", preview: Mapping[str, str] | None = None, **addresses: str
) -> str:
    """Return the page of a game for a server. The page shows `bundle`, and adds the events from the address `events`.

    The server must serve the page's files below ``/viewer/``. `addresses` are further data attributes of the page: ``home``,
    ``record`` or ``recording`` (the file for download), and ``name`` (its file name). `plain` is the
    address of a page without scripts. `preview` has the properties of the page for other programs that link to it (Open Graph),
    such as ``og:title``.
    """
    data = {"events": events, **addresses}
    return render(
        "viewer/game.html",
        bundle=bundle,
        data=data,
        plain=plain,
        preview=preview,
    )


def list_policy() -> str:
    """Return the Content-Security-Policy of a page of text. It allows only the server's own styles and scripts."""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )
