"""Access to a cluster: whether Dask is installed, whether an address is safe, and the options for TLS."""

from __future__ import annotations

import ipaddress
import re
from importlib.util import find_spec
from typing import Any

from vindibot.arena.settings import ClusterSettings
from vindibot.base.errors import UsageError
from vindibot.config.files import short

#: The address that stands for a scheduler in the process of the arena itself.
LOCAL = "local"
#: The command that installs Dask for vindibot.
INSTALL = "pip install 'vindibot[cluster]'"

_ADDRESS = re.compile(r"(?P<protocol>tcp|tls)://(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):(?P<port>[0-9]{1,5})")


def check_cluster(settings: ClusterSettings) -> None:
    """Raise `UsageError` if this machine cannot reach a cluster with these settings.

    The reasons are: Dask is not installed (the message has the command that installs it); Dask cannot read its configuration; the
    text is not an address; the address is not safe; a TLS file is missing or cannot be read.
    """
    if find_spec("distributed") is None:
        raise UsageError(f"other machines need the package distributed of Dask: {INSTALL}")
    _check_configuration()
    check_address(settings)
    security(settings)


def _check_configuration() -> None:
    """Raise `UsageError` if Dask cannot read its configuration: files, and variables that begin with ``DASK_``."""
    try:
        import distributed  # noqa: F401  # reads the configuration
    except Exception as problem:  # of any kind: each part of Dask reads its values in its own way
        reason = " ".join(str(problem).split())[:300] or type(problem).__name__
        where = "correct this file (DASK_CONFIG names it or its folder), or the environment variable that begins with DASK_"
        raise UsageError(f"the configuration of Dask cannot be used: {reason}; {where}") from None


def check_address(settings: ClusterSettings) -> None:
    """Raise `UsageError` if the text is not an address, if the address is not safe, or if TLS files for it are missing."""
    if settings.address == LOCAL:
        return
    found = _ADDRESS.fullmatch(settings.address)
    if found is None or int(found["port"]) not in range(1, 65536):
        raise UsageError(f"{settings.address!r} is not the address of a scheduler: tcp://HOST:PORT, tls://HOST:PORT or {LOCAL}")
    files = {"tls_ca_file": settings.tls_ca_file, "tls_cert": settings.tls_cert, "tls_key": settings.tls_key}
    missing = [key for key, path in files.items() if path is None]
    if found["protocol"] == "tls" and missing:
        raise UsageError(f"tls:// needs certificates: {', '.join(missing)} missing (docs/cluster.md shows how to make them)")
    if found["protocol"] == "tcp" and len(missing) < len(files):
        raise UsageError(f"certificates are given, but {settings.address} is not encrypted: use tls://")
    if found["protocol"] == "tcp" and not is_loopback(found["host"]) and not settings.insecure:
        text = (
            f"{settings.address} is not encrypted: anybody who reaches this port can run programs on every machine of the cluster"
        )
        raise UsageError(f"{text}. Use tls://, or set insecure in a network that only you can reach (docs/cluster.md)")


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine itself: ``localhost``, 127.0.0.0/8 or ::1."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def security(settings: ClusterSettings) -> Any:
    """Return the `distributed.Security` for these settings. Without TLS files, connections are not encrypted.

    Raises `UsageError` if a file cannot be read.
    """
    from distributed import Security

    ca, cert, key = settings.tls_ca_file, settings.tls_cert, settings.tls_key
    if ca is None or cert is None or key is None:
        return Security(require_encryption=False)
    for path in (ca, cert, key):
        try:
            path.open("rb").close()
        except OSError as problem:
            raise UsageError(f"{short(path)}: cannot be read: {problem.strerror or problem}") from None
    names = {f"tls_{role}_{kind}": str(path) for role in ("client", "worker") for kind, path in (("cert", cert), ("key", key))}
    return Security(tls_ca_file=str(ca), require_encryption=True, **names)
