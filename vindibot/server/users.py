"""Users: a name, ratings, and a digest of a key.

All users are in memory; the database has a copy of each, written later. A file has slow digests of keys (scrypt) under its
salt, so that nobody who gets the file can try all keys of 8 characters. For keys that were used since the start there is also
a quick digest under a secret of this process.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import sqlite3
import string
from collections.abc import Iterator
from concurrent.futures import Future

from vindibot.base import VindibotError
from vindibot.server.database import Database
from vindibot.server.game_rows import User, add_bot, load_bots
from vindibot.server.names import name_problem

#: The characters of ids, keys and tokens.
ALPHABET = string.digits + string.ascii_lowercase
#: Characters of a key, as clients expect.
KEY_LENGTH = 8
#: The cost of a slow digest: about ten milliseconds and four megabytes; all keys take centuries.
SCRYPT_N, SCRYPT_R, SCRYPT_P = 2**12, 8, 1
DIGEST_BYTES = 16


class RegistrationError(VindibotError):
    """A refused registration; the message is the original server's."""


def random_word(length: int) -> str:
    """Return a random word of digits and small letters that cannot be guessed."""
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


class Users:
    """All users by key and by id, loaded from a database."""

    def __init__(self, database: Database | None = None) -> None:
        self._database = database or Database()
        self._pepper = secrets.token_bytes(32)
        self._by_key: dict[bytes, User] = {}
        self._by_slow_digest = self._database.read_now(load_bots)
        self._by_id: dict[str, User] = {}
        self._names: dict[str, User] = {}
        self._removed: set[User] = set()
        self._scrypt_lock = asyncio.Lock()
        for user in self._by_slow_digest.values():
            self._insert(user)

    def __iter__(self) -> Iterator[User]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def _insert(self, user: User) -> None:
        self._by_id[user.id] = user
        self._names.setdefault(user.name, user)

    def _remove(self, key: str) -> None:
        """Remove a new user whose key was not returned yet."""
        user = self._by_key.pop(self._digest(key))
        self._removed.add(user)
        del self._by_id[user.id]
        if self._names.get(user.name) is user:
            del self._names[user.name]

    def _digest(self, key: str) -> bytes:
        return hashlib.blake2b(key.encode(), key=self._pepper, digest_size=DIGEST_BYTES).digest()

    def _slow_digest(self, key: str) -> bytes:
        salt = self._database.salt
        return hashlib.scrypt(key.encode(), salt=salt, n=SCRYPT_N, r=SCRYPT_R, p=SCRYPT_P, dklen=DIGEST_BYTES)

    # ---- Finding ----

    def find(self, key: str) -> User | None:
        """Return the user with this key, or None. Takes ten milliseconds for a key that was not used yet: see `look_up`."""
        user = self._by_key.get(self._digest(key))
        if user is None and self._by_slow_digest:
            user = self._recognize(key, self._slow_digest(key))
        return user

    async def look_up(self, key: str) -> User | None:
        """As `find`, without blocking the event loop; one key at a time, so that guesses take one core at most."""
        user = self._by_key.get(self._digest(key))
        if user is None and self._by_slow_digest and len(key) == KEY_LENGTH:
            async with self._scrypt_lock:
                user = self._recognize(key, await asyncio.to_thread(self._slow_digest, key))
        return user

    def _recognize(self, key: str, slow: bytes) -> User | None:
        user = self._by_slow_digest.get(slow)
        if user is not None:
            self._by_key[self._digest(key)] = user
        return user

    def by_id(self, user_id: str | None) -> User | None:
        """Return the user with this id, or None."""
        return self._by_id.get(user_id) if user_id is not None else None

    def by_name(self, name: str) -> User | None:
        """Return the first user of this name, or None."""
        return self._names.get(name)

    # ---- Adding ----

    async def sign_up(self, name: str) -> str:
        """Add a user of the registration page; returns the key, which is on the disk then. Raises `RegistrationError` for a bad
        name, and if the key cannot be stored."""
        self.check_name(name)
        key, stored = self._add(name, random_word(KEY_LENGTH))
        if not await asyncio.wrap_future(stored):
            self._remove(key)
            raise RegistrationError("The server cannot store registrations now, try again later")
        return key

    def check_name(self, name: str) -> None:
        """Raise `RegistrationError` for a name that cannot be registered."""
        problem = name_problem(name)
        if problem is not None:
            raise RegistrationError(problem)
        if name in self._names:
            raise RegistrationError("Name already taken")

    def add(self, name: str, key: str | None = None) -> str:
        """Add a user with any name (several may share it); returns its key, a new one if `key` is None.

        Raises `RegistrationError` if the key has not 8 characters or is in use.
        """
        if key is None:
            key = random_word(KEY_LENGTH)
        elif len(key) != KEY_LENGTH:
            raise RegistrationError(f"a key has {KEY_LENGTH} characters, not {len(key)}")
        elif self.find(key) is not None:
            raise RegistrationError("this key is already in use")
        return self._add(name, key)[0]

    def admit(self, key: str, name: str) -> User:
        """Return the user with this key, a new one if there is none. The key has 8 characters and was looked up before."""
        user = self._by_key.get(self._digest(key))
        if user is None:
            self._add(name, key)
            user = self._by_key[self._digest(key)]
        return user

    def _add(self, name: str, key: str) -> tuple[str, Future[bool]]:
        user = User(random_word(8), name)
        removed = self._removed
        self._by_key[self._digest(key)] = user
        self._insert(user)

        def insert(connection: sqlite3.Connection) -> None:
            if user in removed:
                return
            slow = self._slow_digest(key) if self._database.persistent else self._digest(key)
            add_bot(connection, user, slow)

        return key, self._database.write("a new bot", insert)
