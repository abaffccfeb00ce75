"""The certificates that a client trusts.

These are the certificates of the package certifi. The variable ``SSL_CERT_FILE`` names a file with other certificates. Without
it, ``SSL_CERT_DIR`` names folders with other certificates. ``SSLKEYLOGFILE`` names a file to which the keys of connections are
written.
"""

from __future__ import annotations

import os
import ssl
from functools import cache
from pathlib import Path

import httpx

from vindibot.base.errors import UsageError

_FILE, _FOLDERS, _KEY_LOG = "SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE"


@cache
def trusting() -> ssl.SSLContext:
    """Return the context for encrypted connections. It is made once, which takes some time.

    Raises `UsageError` if one of the variables names a file or folder that cannot be used.
    """
    file, folders = os.environ.get(_FILE), os.environ.get(_FOLDERS)
    if not file and folders and not any(Path(folder).is_dir() for folder in folders.split(os.pathsep)):
        raise UsageError(f"the environment variable {_FOLDERS} names no folder: correct it, or unset it")
    try:
        return httpx.create_ssl_context()
    except OSError as problem:  # also ssl.SSLError
        name = _KEY_LOG if _is_unwritable(os.environ.get(_KEY_LOG)) else _FILE
        reason = "it holds no certificates" if isinstance(problem, ssl.SSLError) else (problem.strerror or str(problem)).lower()
    raise UsageError(f"the file of the environment variable {name} cannot be used: {reason}; correct it, or unset it")


def _is_unwritable(path: str | None) -> bool:
    try:
        Path(path or os.devnull).open("ab").close()
    except OSError:
        return True
    return False


@cache
def trusting_nobody() -> ssl.SSLContext:
    """Return a context for connections without encryption. It is made much faster."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
