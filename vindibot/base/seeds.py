"""Seeds: the seeds of the games, maps and bots of one command are derived from its seed and a purpose."""

from __future__ import annotations

import hashlib


def derive_seed(seed: int, *purpose: str | int) -> int:
    """Return a seed (0 .. 2**63 - 1) for a purpose. Equal arguments give equal seeds, different arguments give unrelated ones."""
    text = "\0".join(f"{type(part).__name__}:{part}" for part in (seed, *purpose))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
