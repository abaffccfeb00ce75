"""Lookup of a player's key in a key file or in the settings.

A key is a secret. It is a pydantic `SecretStr`, which prints as stars. No message contains a key.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import structlog
from pydantic import SecretStr

from vindibot.base.errors import UsageError

#: The environment variable that holds a key.
KEY_VARIABLE = "VINDIBOT_KEY"
#: Number of characters of a player's key, on every server of the protocol.
KEY_LENGTH = 8
#: Largest size of a key file.
MAX_KEY_FILE_BYTES = 4096

_KEY = re.compile(r"[!-~]{1,256}")
_log = structlog.get_logger("vindibot.client.keys")


def find_key(key: SecretStr | None, key_file: Path | None) -> SecretStr | None:
    """Return the key to play with: the key in the file `key_file`, else `key`. Return None if there is no key.

    `key` comes from the settings, which include the variable ``VINDIBOT_KEY``. Raises `UsageError` for a key file that cannot be
    read and for a text that cannot be a key.
    """
    if key_file is not None:
        return check_player_key(read_key_file(key_file), f"the key in {key_file}")
    if key is None or not key.get_secret_value().strip():
        return None
    return check_player_key(key, f"the key in {KEY_VARIABLE} or in the configuration")


def require_key(key: SecretStr | None, key_file: Path | None) -> SecretStr:
    """Return the key that `find_key` finds. Raises `UsageError` if there is none."""
    secret = find_key(key, key_file)
    if secret is None:
        raise UsageError(
            f"there is no key: set {KEY_VARIABLE}, or name a file that holds it (key_file), or put it into the configuration"
            " (key). A server gives you a key when you register a bot there."
        )
    return secret


def read_key_file(path: Path) -> SecretStr:
    """Return the key in a file: the first line that is neither blank nor a comment (``#``). Raises `UsageError`."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_KEY_FILE_BYTES + 1)
            open_to_others = os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077
    except OSError as error:
        raise UsageError(f"the key file {path} cannot be read: {error.strerror or 'unknown error'}") from None
    if len(content) > MAX_KEY_FILE_BYTES:
        raise UsageError(f"{path} is not a key file: it has more than {MAX_KEY_FILE_BYTES} bytes")
    lines = (line.strip() for line in content.decode("utf-8-sig", "replace").splitlines())
    line = next((line for line in lines if line and not line.startswith("#")), None)
    if line is None:
        raise UsageError(f"the key file {path} is empty: write the key into it")
    key = check_key(line, f"the key in {path}")
    if open_to_others:
        _log.warning("other users of this machine may read the key file; `chmod 600` keeps it yours", path=str(path))
    return key


def check_key(text: str, where: str) -> SecretStr:
    """Return the key in `text`, without blanks around the key. A key has 1 to 256 visible ASCII characters and no blanks.

    `where` describes the source of the text. Raises `UsageError` for any other text. The message begins with `where` and does not
    quote the text.
    """
    key = text.strip()
    if not _KEY.fullmatch(key):
        raise UsageError(f"{where} is not a key: a key has 1 to 256 visible ASCII characters and no blanks")
    return SecretStr(key)


def check_player_key(secret: SecretStr, where: str) -> SecretStr:
    """Return a key as `check_key` does. Raises `UsageError` also for a key that does not have 8 characters."""
    key = check_key(secret.get_secret_value(), where)
    length = len(key.get_secret_value())
    if length != KEY_LENGTH:
        raise UsageError(f"{where} has {length} characters, but a key has {KEY_LENGTH}: copy the whole key, and nothing else")
    return key
