"""A check that Python finds our other packages."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def hidden_package() -> str:
    """Return the error if Python would import another ``behaviours`` or ``sim`` than ours; else "".

    Python puts the current folder first (``python -m pytest``), and the folders in ``PYTHONPATH`` before installed packages.
    `behaviours` does the same for ``vindibot``. Neither can use the other's code before the check.
    """
    here = Path(__file__).resolve().parents[2]
    for name in ("behaviours", "sim"):
        spec = find_spec(name)
        found = Path(spec.origin).resolve() if spec is not None and spec.origin else here / name
        if here not in found.parents:
            hides = found.parent if found.name == "__init__.py" else found
            return f"{hides} hides the package {name!r} of vindibot: give it another name"
    return ""
