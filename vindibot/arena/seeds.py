"""Seeds: every random number follows from the tournament's seed and its purpose."""

from __future__ import annotations

import hashlib


def derive_seed(seed: int, *purpose: str | int) -> int:
    """Return a number below 2**63 for a purpose. Equal arguments give equal numbers, others give unrelated numbers."""
    text = "\0".join(f"{type(part).__name__}:{part}" for part in (seed, *purpose))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
