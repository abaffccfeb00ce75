"""Users (registered bots): each user has a name, ratings, and a digest of its key.

All users are in memory. A server may also have a store with a copy of each user. A store has no keys, only their digests: HMAC
with a secret, which lies in a file of its own. So nobody can find keys in a stolen copy of the store by trying words.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.text import unseen_character
from vindibot.base.writing import replace, short
from vindibot.server.ratings import FIRST_ELO, FIRST_MU, FIRST_SIGMA

#: The characters that ids, new keys and tokens consist of: without those that look alike on paper (i, l, 1, o, 0).
ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
#: Smallest and largest number of characters of a name.
SHORTEST_NAME, LONGEST_NAME = 3, 20
#: Number of characters of a key, as clients expect.
KEY_LENGTH = 8
SECRET_BYTES = 32
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
    """Users that are to be stored, all or none: each user with the digest of its key, and whether the server made the key.

    If `dropped`, later attempts to store these users do nothing.
    """

    users: list[tuple[User, bytes, bool]] = field(repr=False)
    dropped: bool = False


class UserStore:
    """Keeps a copy of all users, and the `secret` of the digests of their keys. This class keeps nothing; a subclass does."""

    def __init__(self, secret: bytes | None = None) -> None:
        self.secret = secret or secrets.token_bytes(SECRET_BYTES)

    def load(self) -> list[tuple[User, bytes, bool]]:
        """Return all stored users as in `NewUsers`, in the order of their registration."""
        return []

    def add(self, new: NewUsers) -> Future[bool]:
        """Store users later. Return a future whose result says whether the first attempt has stored them."""
        stored: Future[bool] = Future()
        stored.set_result(True)
        return stored


def key_digest(secret: bytes, key: str) -> bytes:
    """Return the digest of a key: HMAC-SHA-256 with this secret."""
    return hmac.digest(secret, key.encode("utf-8", "replace"), "sha256")


def read_secret(path: Path) -> bytes:
    """Return the secret in a file. Raises `UsageError` if the file is missing or has no secret."""
    try:
        secret = bytes.fromhex(path.read_text(encoding="ascii"))
    except FileNotFoundError:
        words = "is missing; without this secret no key is known: copy it from where the other file comes from"
        raise UsageError(f"{short(path)} {words}") from None
    except OSError as error:
        raise UsageError(f"{short(path)}: the secret cannot be read: {error.strerror or error}") from None
    except ValueError:
        secret = b""
    if len(secret) != SECRET_BYTES:
        raise UsageError(f"{short(path)}: this is no secret; replace it by a copy")
    return secret


def write_secret(path: Path, secret: bytes, *, exclusive: bool = True) -> None:
    """Write a secret to a file that only its owner may read. With `exclusive`, the file must be new. Raises `OSError`."""
    replace(path, f"{secret.hex()}\n".encode(), mode=0o600, exclusive=exclusive)


class Users:
    """All users by key and by id, loaded from a store (None: none). A new user appears here once it is stored."""

    def __init__(self, store: UserStore | None = None) -> None:
        self._store = store or UserStore()
        self._by_digest: dict[bytes, User] = {}
        self._by_digest_of_made: dict[bytes, User] = {}  # only the keys that the server made, which have small letters
        self._by_id: dict[str, User] = {}
        self._names: dict[str, User] = {}
        self._reserved_names: set[str] = set()
        self._admissions: dict[bytes, asyncio.Task[User]] = {}
        for user, digest, made in self._store.load():
            self._insert(user, digest, made)

    def __iter__(self) -> Iterator[User]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def _insert(self, user: User, digest: bytes, made: bool) -> None:
        self._by_id[user.id] = user
        self._names.setdefault(user.name, user)
        self._by_digest[digest] = user
        if made:
            self._by_digest_of_made[digest] = user

    def _digest(self, key: str) -> bytes:
        return key_digest(self._store.secret, key)

    # ---- Finding ----

    def find(self, key: str) -> User | None:
        """Return the user with this key, or None. A key that the server made may also be written with capitals."""
        return self._by_digest.get(self._digest(key)) or self._by_digest_of_made.get(self._digest(key.lower()))

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
            await self.add_all([(name, key, True)])
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
        made = key is None
        if key is None:
            key = random_word(KEY_LENGTH)
        elif len(key) != KEY_LENGTH:
            raise RegistrationError(f"a key has {KEY_LENGTH} characters, not {len(key)}")
        elif self.find(key) is not None:
            raise RegistrationError("this key is already in use")
        new = self._new((name, key, made))
        self._finish(new, self._store.add(new).result())
        return key

    async def add_all(self, bots: Sequence[tuple[str, str, bool]]) -> None:
        """Add users, all or none: each with its name, its key, and whether the server made the key.

        Return once they are stored on the disk. Raises `RegistrationError` if they cannot be stored.
        """
        new = self._new(*bots)
        self._finish(new, await asyncio.wrap_future(self._store.add(new)))

    def _new(self, *bots: tuple[str, str, bool]) -> NewUsers:
        return NewUsers([(User(random_word(8), name), self._digest(key), made) for name, key, made in bots])

    def _finish(self, new: NewUsers, stored: bool) -> None:
        if not stored:
            new.dropped = True
            raise RegistrationError("The server cannot store registrations now, try again later")
        for user, digest, made in new.users:
            self._insert(user, digest, made)

    async def admit(self, key: str, name: Callable[[], str]) -> User:
        """Return the user with this key. If there is none, call `name` once, and add a user with this name.

        The key must have 8 characters. The call returns once the user is stored on the disk. If the disk refuses the user or
        needs longer than `MAX_STORING_SECONDS`, the user is stored later.
        """
        user = self.find(key)
        if user is not None:
            return user
        digest = self._digest(key)
        if digest not in self._admissions:  # else another request with the same key waits already
            task = self._admissions[digest] = asyncio.create_task(self._admit(self._new((name(), key, False))))
            task.add_done_callback(lambda _: self._admissions.pop(digest))
        return await asyncio.shield(self._admissions[digest])

    async def _admit(self, new: NewUsers) -> User:
        with suppress(TimeoutError):
            async with asyncio.timeout(MAX_STORING_SECONDS):
                await asyncio.shield(asyncio.wrap_future(self._store.add(new)))
        self._finish(new, stored=True)
        return new.users[0][0]
