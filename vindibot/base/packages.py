"""Whether our other packages are the ones that Python finds."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

#: The packages that lie beside this one.
PACKAGES = ("behaviours", "sim")


def hidden_package() -> str:
    """What to say if another ``behaviours`` or ``sim`` than ours would be imported; empty if ours would.

    Python puts the current folder first (``python -m pytest``), and the folders in ``PYTHONPATH`` before installed packages.
    `behaviours` itself notices another ``vindibot``.
    """
    here = Path(__file__).resolve().parents[2]
    for name in PACKAGES:
        spec = find_spec(name)
        found = Path(spec.origin).resolve() if spec is not None and spec.origin else here / name
        if here not in found.parents:
            hides = found.parent if found.name == "__init__.py" else found
            return f"{hides} hides the package {name!r} of vindibot: give it another name"
    return ""
