"""A digest of the sources that decide moves: the rules and the traits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

#: The packages in the digest.
PACKAGES = ("sim", "behaviours")


def digest(packages: Iterable[str] = PACKAGES) -> str:
    """Return a digest of the names and contents of all Python files of these packages of ours: 16 hexadecimal digits."""
    found = hashlib.sha256()
    top = Path(__file__).resolve().parents[2]
    for package in packages:
        for source in sorted((top / package).rglob("*.py")):
            found.update(str(source.relative_to(top)).encode())
            found.update(source.read_bytes())
    return found.hexdigest()[:16]
