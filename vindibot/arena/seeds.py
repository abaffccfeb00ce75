"""Where randomness comes from: every number follows from the tournament's seed and what it is for."""

from __future__ import annotations

import hashlib


def derive_seed(seed: int, *purpose: str | int) -> int:
    """A number below 2**63 for a purpose: equal arguments give equal numbers, any other ones unrelated ones."""
    said = "\0".join(f"{type(part).__name__}:{part}" for part in (seed, *purpose))
    return int.from_bytes(hashlib.blake2b(said.encode(), digest_size=8).digest(), "big") >> 1
