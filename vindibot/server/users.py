"""Users: a name, a rating, and a key of which only a digest is kept."""

from __future__ import annotations

import hashlib
import secrets
import string
from dataclasses import dataclass

from vindibot.errors import VindibotError

#: What ids, keys and tokens consist of.
ALPHABET = string.digits + string.ascii_lowercase
#: Every client expects keys of exactly this length.
KEY_LENGTH = 8
SHORTEST_NAME, LONGEST_NAME = 3, 20
FIRST_ELO = 1200


class RegistrationError(VindibotError):
    """A registration that is refused; the message is the original server's."""


def random_word(length: int) -> str:
    """An unguessable word of digits and small letters."""
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


@dataclass
class User:
    """Somebody who may play. `elo` is the present rating."""

    id: str
    name: str
    elo: int = FIRST_ELO


class Users:
    """All users by key. Keys are kept as digests under a secret of this process; the key itself is never stored."""

    def __init__(self) -> None:
        self._pepper = secrets.token_bytes(32)
        self._by_key: dict[bytes, User] = {}
        self._names: set[str] = set()

    def _digest(self, key: str) -> bytes:
        return hashlib.blake2b(key.encode(), key=self._pepper, digest_size=16).digest()

    def find(self, key: str) -> User | None:
        """The user with this key, or None."""
        return self._by_key.get(self._digest(key))

    def register(self, name: str) -> str:
        """A new user as the registration page makes one; returns the key. Raises `RegistrationError`."""
        if len(name) < SHORTEST_NAME:
            raise RegistrationError("Name is too short")
        if len(name) > LONGEST_NAME:
            raise RegistrationError("Name is too long")
        if name in self._names:
            raise RegistrationError("Name already taken")
        return self.add(name)

    def add(self, name: str, key: str | None = None) -> str:
        """A new user without questions (several may share a name); returns the key, which is made unless given.

        Raises `RegistrationError` if a key is not 8 characters long or already in use.
        """
        if key is None:
            key = random_word(KEY_LENGTH)
        if len(key) != KEY_LENGTH:
            raise RegistrationError(f"a key has {KEY_LENGTH} characters, not {len(key)}")
        digest = self._digest(key)
        if digest in self._by_key:
            raise RegistrationError("this key is already in use")
        self._by_key[digest] = User(random_word(8), name)
        self._names.add(name)
        return key
