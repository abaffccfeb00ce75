"""Users (registered bots): each user has a name, ratings, and a digest of its key.

All users are in memory. The database has a copy of each user, which is written later. A database file has no keys, only digests
that are slow to compute (scrypt with the file's salt). So a person with a stolen file cannot find the keys by trying all words of
8 characters. When a key is used for the first time since the start, the server also stores a fast digest of it in memory. The
fast digest depends on a secret of the process.
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

#: The characters that ids, new keys and tokens consist of.
ALPHABET = string.digits + string.ascii_lowercase
#: Number of characters of a key, as clients expect.
KEY_LENGTH = 8
#: The cost of a slow digest: about ten milliseconds and four megabytes. With this cost, trying all possible keys takes centuries.
SCRYPT_N, SCRYPT_R, SCRYPT_P = 2**12, 8, 1
DIGEST_BYTES = 16


class RegistrationError(VindibotError):
    """The server refuses to register a bot. If the original server has a message for the reason, the message is the same."""


def random_word(length: int) -> str:
    """Return a random word of `length` digits and small letters, from a secure random source."""
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
        """Remove the new user with this key. The key must not have been sent to anybody yet."""
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
        """Return the user with this key, or None. In an event loop call `look_up` instead, which does not block.

        The call takes ten milliseconds of CPU time if the key is unknown or is used for the first time.
        """
        user = self._by_key.get(self._digest(key))
        if user is None and self._by_slow_digest:
            user = self._recognize(key, self._slow_digest(key))
        return user

    async def look_up(self, key: str) -> User | None:
        """Return the same as `find` without blocking the event loop.

        Only one slow digest is computed at a time. So a client that guesses keys takes at most one core.
        """
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
        """Return the first user with this name, or None."""
        return self._names.get(name)

    # ---- Adding ----

    async def sign_up(self, name: str) -> str:
        """Add a user with this name and a new key. Return the key once the user is stored on the disk.

        Raises `RegistrationError` if the name is not accepted or the user cannot be stored.
        """
        self.check_name(name)
        key, stored = self._add(name, random_word(KEY_LENGTH))
        if not await asyncio.wrap_future(stored):
            self._remove(key)
            raise RegistrationError("The server cannot store registrations now, try again later")
        return key

    def check_name(self, name: str) -> None:
        """Raise `RegistrationError` if this name is not valid or already taken."""
        problem = name_problem(name)
        if problem is not None:
            raise RegistrationError(problem)
        if name in self._names:
            raise RegistrationError("Name already taken")

    def add(self, name: str, key: str | None = None) -> str:
        """Add a user and return its key. If `key` is None, make a new key. Any name is allowed, and several users may share it.

        Raises `RegistrationError` if `key` does not have 8 characters or is in use.
        """
        if key is None:
            key = random_word(KEY_LENGTH)
        elif len(key) != KEY_LENGTH:
            raise RegistrationError(f"a key has {KEY_LENGTH} characters, not {len(key)}")
        elif self.find(key) is not None:
            raise RegistrationError("this key is already in use")
        return self._add(name, key)[0]

    def admit(self, key: str, name: str) -> User:
        """Return the user with this key. If there is none, add one with this name.

        The key must have 8 characters, and `look_up` must have been called with it before.
        """
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
