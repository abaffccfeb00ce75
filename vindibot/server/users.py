"""Users: a name, ratings, and a key of which only a digest is kept.

All users are in memory; the store has a copy of each, written behind. In a file a key is a slow digest (scrypt) under the
file's salt, so that who gets hold of the file cannot try all keys of 8 characters. Keys that were used since the start are
also known by a quick digest under a secret of this process.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import sqlite3
import string
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field

from vindibot.base import VindibotError
from vindibot.server.database import Database
from vindibot.server.game_rows import BotRow, add_bot, load_bots
from vindibot.server.names import name_problem
from vindibot.server.ratings import FIRST_ELO, FIRST_MU, FIRST_SIGMA

#: What ids, keys and tokens consist of.
ALPHABET = string.digits + string.ascii_lowercase
#: Every client expects keys of exactly this length.
KEY_LENGTH = 8
#: The cost of a slow digest: about ten milliseconds and four megabytes, that is, centuries for all keys.
SCRYPT_N, SCRYPT_R, SCRYPT_P = 2**12, 8, 1
DIGEST_BYTES = 16


class RegistrationError(VindibotError):
    """A registration that is refused; the message is the original server's."""


def random_word(length: int) -> str:
    """An unguessable word of digits and small letters."""
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


@dataclass(eq=False)
class User:
    """Somebody who may play, with the present ratings; `games` are those that were rated. Times are seconds since 1970,
    `played` is the end of the last game."""

    id: str
    name: str
    elo: int = FIRST_ELO
    games: int = 0
    mu: float = FIRST_MU
    sigma: float = FIRST_SIGMA
    created: float = field(default_factory=time.time)
    played: float | None = None


class Users:
    """All users by key and by id. What a store holds is loaded at once."""

    def __init__(self, store: Database | None = None) -> None:
        self._store = store or Database()
        self._pepper = secrets.token_bytes(32)
        self._by_key: dict[bytes, User] = {}
        self._by_slow: dict[bytes, User] = {}
        self._by_id: dict[str, User] = {}
        self._names: dict[str, User] = {}
        self._forgotten: set[User] = set()
        self._one_at_a_time = asyncio.Lock()
        for row in self._store.read_now(load_bots):
            user = User(row.id, row.name, row.elo, row.games, row.mu, row.sigma, row.created, row.played)
            self._by_slow[row.key] = user
            self._remember(user)

    def __iter__(self) -> Iterator[User]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def _remember(self, user: User) -> None:
        self._by_id[user.id] = user
        self._names.setdefault(user.name, user)

    def _forget(self, key: str) -> None:
        """Take back a new user whose key nobody has been told."""
        user = self._by_key.pop(self._digest(key))
        self._forgotten.add(user)
        del self._by_id[user.id]
        if self._names.get(user.name) is user:
            del self._names[user.name]

    def _digest(self, key: str) -> bytes:
        return hashlib.blake2b(key.encode(), key=self._pepper, digest_size=DIGEST_BYTES).digest()

    def _slow_digest(self, key: str) -> bytes:
        salt = self._store.salt
        return hashlib.scrypt(key.encode(), salt=salt, n=SCRYPT_N, r=SCRYPT_R, p=SCRYPT_P, dklen=DIGEST_BYTES)

    # ---- Finding ----

    def find(self, key: str) -> User | None:
        """The user with this key, or None. Of a key that was not used yet this may take ten milliseconds: see `look_up`."""
        user = self._by_key.get(self._digest(key))
        if user is None and self._by_slow:
            user = self._met(key, self._slow_digest(key))
        return user

    async def look_up(self, key: str) -> User | None:
        """As `find`, but the event loop goes on meanwhile; one key at a time, so that guessing costs no more than a core."""
        user = self._by_key.get(self._digest(key))
        if user is None and self._by_slow and len(key) == KEY_LENGTH:
            async with self._one_at_a_time:
                user = self._met(key, await asyncio.to_thread(self._slow_digest, key))
        return user

    def _met(self, key: str, slow: bytes) -> User | None:
        user = self._by_slow.get(slow)
        if user is not None:
            self._by_key[self._digest(key)] = user
        return user

    def by_id(self, user_id: str | None) -> User | None:
        """The user with this id, or None."""
        return self._by_id.get(user_id) if user_id is not None else None

    def by_name(self, name: str) -> User | None:
        """The first user of this name, or None."""
        return self._names.get(name)

    # ---- Adding ----

    async def sign_up(self, name: str) -> str:
        """A new user as the registration page makes one; returns the key, which is on the disk by then. Raises
        `RegistrationError` for a bad name, and if the key cannot be kept."""
        self.check_name(name)
        key, kept = self._add(name, random_word(KEY_LENGTH))
        if not await asyncio.wrap_future(kept):
            self._forget(key)
            raise RegistrationError("The server cannot keep registrations at present, try again later")
        return key

    def check_name(self, name: str) -> None:
        """Raise `RegistrationError` for a name that cannot be registered."""
        problem = name_problem(name)
        if problem is not None:
            raise RegistrationError(problem)
        if name in self._names:
            raise RegistrationError("Name already taken")

    def add(self, name: str, key: str | None = None) -> str:
        """A new user without questions (several may share a name); returns the key, which is made unless given.

        Raises `RegistrationError` if a key is not 8 characters long or already in use.
        """
        if key is None:
            key = random_word(KEY_LENGTH)
        elif len(key) != KEY_LENGTH:
            raise RegistrationError(f"a key has {KEY_LENGTH} characters, not {len(key)}")
        elif self.find(key) is not None:
            raise RegistrationError("this key is already in use")
        return self._add(name, key)[0]

    def admit(self, key: str, name: str) -> User:
        """The user with this key, which must be 8 characters long and have been looked up; a new one if there is none."""
        user = self._by_key.get(self._digest(key))
        if user is None:
            self._add(name, key)
            user = self._by_key[self._digest(key)]
        return user

    def _add(self, name: str, key: str) -> tuple[str, Future[bool]]:
        user = User(random_word(8), name)
        forgotten = self._forgotten
        self._by_key[self._digest(key)] = user
        self._remember(user)

        def insert(connection: sqlite3.Connection) -> None:
            if user in forgotten:
                return
            slow = self._slow_digest(key) if self._store.persistent else self._digest(key)
            row = BotRow(user.id, name, slow, FIRST_ELO, 0, FIRST_MU, FIRST_SIGMA, user.created, None)
            add_bot(connection, row)

        return key, self._store.write("a new bot", insert)
