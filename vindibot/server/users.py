"""Users (registered bots): each user has a name, ratings, and a digest of its key.

All users are in memory. A server may also have a store with a copy of each user, which is written later. The file of a store has
no keys, only digests that are slow to compute (scrypt with the file's salt). So a person with a stolen file cannot find the keys
by trying all words of 8 characters. When a key is used for the first time since the start, the server also keeps a fast digest of
it in memory. The fast digest depends on a secret of the process. No slow digest is computed in the thread of the store, because
games wait for it.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import string
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field

from vindibot.base.errors import VindibotError
from vindibot.base.text import unseen_character
from vindibot.server.ratings import FIRST_ELO, FIRST_MU, FIRST_SIGMA

#: The characters that ids, new keys and tokens consist of.
ALPHABET = string.digits + string.ascii_lowercase
#: Smallest and largest number of characters of a name.
SHORTEST_NAME, LONGEST_NAME = 3, 20
#: Number of characters of a key, as clients expect.
KEY_LENGTH = 8
#: The cost of a slow digest: about ten milliseconds and four megabytes. With this cost, trying all possible keys takes centuries.
SCRYPT_N, SCRYPT_R, SCRYPT_P = 2**12, 8, 1
DIGEST_BYTES = 16
#: Largest number of unknown keys whose slow digests are in memory, so that a repeated wrong key costs nothing.
MAX_UNKNOWN_KEYS = 10_000
#: Largest number of seconds that the first game of a new bot waits for the disk.
MAX_STORING_SECONDS = 10.0


class RegistrationError(VindibotError):
    """The server refuses to register a bot. If the original server has a message for the reason, the message is the same."""


def random_word(length: int) -> str:
    """Return a random word of `length` digits and small letters, from a secure random source."""
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def name_problem(name: str, shortest: int = SHORTEST_NAME) -> str | None:
    """Return a message that says why the name of a bot is not valid, None if it is valid.

    `shortest` is the smallest number of characters. The messages about the length are those of the original server.
    """
    if len(name) < shortest:
        return "Name is too short"
    if len(name) > LONGEST_NAME:
        return "Name is too long"
    unseen = unseen_character(name)
    if unseen is not None:
        return f"Name has an invisible character: {unseen}"
    if name != name.strip():
        return "Name begins or ends with a space"
    return None


@dataclass(eq=False)
class User:
    """A registered bot with its current ratings. `games` is the number of its rated games.

    `created` and `played` are times in seconds since 1970. `played` is the end of the bot's last game, None before the first.
    """

    id: str
    name: str
    elo: int = FIRST_ELO
    games: int = 0
    mu: float = FIRST_MU
    sigma: float = FIRST_SIGMA
    created: float = field(default_factory=time.time)
    played: float | None = None


@dataclass
class NewUsers:
    """Users that are to be stored, all or none: each user with its key and the slow digest of the key.

    If `dropped`, later attempts to store these users do nothing.
    """

    users: list[tuple[User, str, bytes]] = field(repr=False)
    dropped: bool = False


class UserStore:
    """Keeps a copy of all users. This class keeps nothing; a subclass stores the users.

    `salt` is the salt of the slow digests of keys. If it is None, the fast digests are stored in place of slow digests.
    """

    salt: bytes | None = None

    def load(self) -> dict[bytes, User]:
        """Return all stored users by the slow digests of their keys, in the order of their registration."""
        return {}

    def add(self, new: NewUsers) -> Future[bool]:
        """Store users later. Return a future whose result says whether the first attempt has stored them."""
        stored: Future[bool] = Future()
        stored.set_result(True)
        return stored


class Users:
    """All users by key and by id, loaded from a store (None: none). A new user appears here once it is stored."""

    def __init__(self, store: UserStore | None = None) -> None:
        self._store = store or UserStore()
        self._pepper = secrets.token_bytes(32)
        self._by_key: dict[bytes, User] = {}
        self._by_slow_digest = self._store.load()
        self._by_id: dict[str, User] = {}
        self._names: dict[str, User] = {}
        self._reserved_names: set[str] = set()
        self._unknown: dict[bytes, bytes] = {}  # slow digests of unknown keys, by their fast digests
        self._admissions: dict[bytes, asyncio.Task[User]] = {}
        for user in self._by_slow_digest.values():
            self._insert(user)

    def __iter__(self) -> Iterator[User]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def _insert(self, user: User, key: str | None = None) -> None:
        self._by_id[user.id] = user
        self._names.setdefault(user.name, user)
        if key is not None:
            self._by_key[self._digest(key)] = user

    def _digest(self, key: str) -> bytes:
        return hashlib.blake2b(key.encode(), key=self._pepper, digest_size=DIGEST_BYTES).digest()

    def _slow_digest(self, key: str) -> bytes:
        """Return the digest of a key for the store. If the store has a salt, this takes ten milliseconds of CPU time."""
        salt = self._store.salt
        if salt is None:
            return self._digest(key)
        computed = self._unknown.get(self._digest(key))
        if computed is not None:
            return computed
        return hashlib.scrypt(key.encode(), salt=salt, n=SCRYPT_N, r=SCRYPT_R, p=SCRYPT_P, dklen=DIGEST_BYTES)

    # ---- Finding ----

    def cached(self, key: str) -> User | None:
        """Return the user with this key if the key was used or made since the start, else None. The call costs nothing."""
        return self._by_key.get(self._digest(key))

    def is_costly(self, key: str) -> bool:
        """Return whether `find` and `look_up` must compute a slow digest to find the user with this key."""
        digest = self._digest(key)
        return digest not in self._by_key and digest not in self._unknown and bool(self._by_slow_digest)

    def find(self, key: str) -> User | None:
        """Return the user with this key, or None. In an event loop call `look_up` instead, which does not block.

        The call takes ten milliseconds of CPU time if `is_costly`.
        """
        return self._recognize(key, self._slow_digest(key)) if self.is_costly(key) else self.cached(key)

    async def look_up(self, key: str) -> User | None:
        """Return the same as `find` without blocking the event loop."""
        if len(key) != KEY_LENGTH:
            return None
        if self.is_costly(key):
            self._recognize(key, await asyncio.to_thread(self._slow_digest, key))
        return self.cached(key)

    def _recognize(self, key: str, slow: bytes) -> User | None:
        user = self._by_slow_digest.get(slow)
        if user is not None:
            self._by_key[self._digest(key)] = user
        else:
            if len(self._unknown) >= MAX_UNKNOWN_KEYS:
                self._unknown.clear()
            self._unknown[self._digest(key)] = slow
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
        key = random_word(KEY_LENGTH)
        self._reserved_names.add(name)
        try:
            await self.add_all([(name, key)])
        finally:
            self._reserved_names.discard(name)
        return key

    def check_name(self, name: str) -> None:
        """Raise `RegistrationError` if this name is not valid or already taken."""
        problem = name_problem(name)
        if problem is not None:
            raise RegistrationError(problem)
        if name in self._names or name in self._reserved_names:
            raise RegistrationError("Name already taken")

    def add(self, name: str, key: str | None = None) -> str:
        """Add a user and return its key, once the user is stored on the disk. If `key` is None, make a new key.

        Any name is allowed, and several users may share it. Raises `RegistrationError` if `key` does not have 8 characters or is
        in use, or if the user cannot be stored.
        """
        if key is None:
            key = random_word(KEY_LENGTH)
        elif len(key) != KEY_LENGTH:
            raise RegistrationError(f"a key has {KEY_LENGTH} characters, not {len(key)}")
        elif self.find(key) is not None:
            raise RegistrationError("this key is already in use")
        new = NewUsers([(User(random_word(8), name), key, self._slow_digest(key))])
        self._finish(new, self._store.add(new).result())
        return key

    async def add_all(self, bots: Sequence[tuple[str, str]]) -> None:
        """Add users with these names and keys, all or none. Return once they are stored on the disk.

        Raises `RegistrationError` if the users cannot be stored.
        """
        digests = await asyncio.to_thread(lambda: [self._slow_digest(key) for _, key in bots])
        new = NewUsers([(User(random_word(8), name), key, slow) for (name, key), slow in zip(bots, digests, strict=True)])
        self._finish(new, await asyncio.wrap_future(self._store.add(new)))

    def _finish(self, new: NewUsers, stored: bool) -> None:
        if not stored:
            new.dropped = True
            raise RegistrationError("The server cannot store registrations now, try again later")
        for user, key, _ in new.users:
            self._insert(user, key)

    async def admit(self, key: str, name: Callable[[], str]) -> User:
        """Return the user with this key. If there is none, call `name` once, and add a user with this name.

        The key must have 8 characters, and `look_up` must have been called with it before. The call returns once the user is
        stored on the disk. If the disk refuses the user or needs longer than `MAX_STORING_SECONDS`, the user is stored later.
        """
        user = self.cached(key)
        if user is not None:
            return user
        digest = self._digest(key)
        if digest not in self._admissions:  # else another request with the same key waits already
            task = self._admissions[digest] = asyncio.create_task(self._admit(key, name()))
            task.add_done_callback(lambda _: self._admissions.pop(digest))
        return await asyncio.shield(self._admissions[digest])

    async def _admit(self, key: str, name: str) -> User:
        user = User(random_word(8), name)
        new = NewUsers([(user, key, await asyncio.to_thread(self._slow_digest, key))])
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_STORING_SECONDS):
                await asyncio.shield(asyncio.wrap_future(self._store.add(new)))
        self._insert(user, key)
        return user
