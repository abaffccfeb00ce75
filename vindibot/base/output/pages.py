"""Pages (HTML) and drawings (SVG) from templates that escape all values.

A template is a file in the folder ``templates`` of a package of `vindibot`. The template's name begins with the package:
``server.site/home.html``. A template may use templates of the same room and of the rooms that this room may import.
``base/page.html`` is the frame of all pages.
"""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from vindibot.base.output.text import printable

# Jinja2 is imported when the first page is made: most commands make no page.
if TYPE_CHECKING:
    from jinja2 import Environment, PackageLoader
    from markupsafe import Markup


def render(template: str, **values: Any) -> Markup:
    """Return the page that a template makes from these values: ``render("server.site/missing.html")``.

    Escapes each value, except markup that another template has made. Raises `jinja2.UndefinedError` if a value is missing.
    """
    from markupsafe import Markup

    return Markup(_environment().get_template(template).render(values))  # noqa: S704  # the template has escaped what it inserts


def compile_templates(*packages: str) -> None:
    """Compile all templates of these packages of `vindibot` in advance, so that the first page is made as fast as later pages."""
    environment = _environment()
    for package in packages:
        for name in environment.loader.mapping[package].list_templates():  # type: ignore[union-attr]
            environment.get_template(f"{package}/{name}")


@lru_cache(maxsize=64)
def qr_code(text: str) -> Markup:
    """Return the QR code of a text as an SVG element, black on white. The page sets its size."""
    import segno
    from markupsafe import Markup

    drawn = segno.make(text, error="m", micro=False).svg_inline(border=2, light="#fff", omitsize=True)
    return Markup(drawn)  # noqa: S704  # it is drawn here


def qr_picture(text: str) -> str:
    """Return the QR code of a text as the address of a picture (a data URL), black on white."""
    import segno

    return str(segno.make(text, error="m", micro=False).svg_data_uri(border=2, light="#fff", omitsize=True))


class _Loaders(dict[str, "PackageLoader"]):
    """The loaders of templates, by package of `vindibot`. Each loader is created at its first use."""

    def __missing__(self, package: str) -> PackageLoader:
        from jinja2 import PackageLoader

        self[package] = PackageLoader(f"vindibot.{package}")
        return self[package]


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PrefixLoader, StrictUndefined

    environment = Environment(
        loader=PrefixLoader(_Loaders()),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,  # a check for changed files would take time for each page
    )
    environment.filters |= {"printable": printable, "quoted": quoted, "shell": shlex.quote, "utc": utc}
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment


def quoted(part: str) -> str:
    """Return a text as one segment of a URL's path. Slashes and all other special characters are escaped."""
    return quote(part, safe="")


def utc(seconds: float | None) -> str:
    """Return a time (seconds since 1970) as a text in UTC, to the minute; "never" for None."""
    return "never" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
