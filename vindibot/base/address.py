"""The address of a server, its URLs, and the old domain that must not get a key.

A key and the token of a game go only to the origin (scheme, host and port) that the user configured. In the URL for moves
(``playUrl``), a server may state any host. The client uses only the path of this URL. So no answer can make the client send a
token to another host.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from vindibot.base.errors import UsageError

#: The domain of the original public server. It belongs to strangers now.
OLD_DOMAIN = "vindinium.org"

_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[0-9a-z_]([0-9a-z_.-]*[0-9a-z_])?\.?")
_UNSAFE = re.compile(r"[^!-~]|\\")


@dataclass(frozen=True)
class ServerAddress:
    """The address of a server. `host` is in lower case, without brackets. `prefix` is the start of all paths on the server, and
    is usually ""."""

    scheme: str
    host: str
    port: int
    prefix: str = ""

    @classmethod
    def parse(cls, text: str, *, allow_old_domain: bool = False) -> ServerAddress:
        """Parse a URL such as ``http://localhost:8080``. ``http://`` may be left out.

        Raises `UsageError` for a text that is not the URL of a server, and for the old domain unless `allow_old_domain` is true.
        """
        url = text.strip()
        if not url:
            raise UsageError("the server's address is empty; give one such as http://localhost:8080")
        if "@" in url:
            raise UsageError("the server's address must not hold a user name, a password or any other '@'")
        problem = f"{url!r:.200} is not the address of a server"
        try:
            parts = urlsplit(url if "://" in url else f"http://{url}")
            host, port = parts.hostname or "", parts.port
        except ValueError:
            raise UsageError(f"{problem}: its host or port cannot be read") from None
        if parts.scheme not in _PORTS:
            raise UsageError(f"{problem}: it must begin with http:// or https://")
        if not (_HOST.fullmatch(host) or _is_ip(host)):
            raise UsageError(f"{problem}: it names no host; give one such as http://localhost:8080")
        if parts.query or parts.fragment or _UNSAFE.search(parts.path):
            raise UsageError(f"{problem}: only a host, a port and a path are expected")
        if is_old_domain(host) and not allow_old_domain:
            raise UsageError(
                f"refusing to use {host}: the domain {OLD_DOMAIN} no longer belongs to the public Vindinium server, and its new"
                " owner would get your key. Give the address of another server, or force it with allow_old_domain."
            )
        return cls(parts.scheme, host, _PORTS[parts.scheme] if port is None else port, parts.path.rstrip("/"))

    @property
    def origin(self) -> str:
        """Scheme, host and port, as in ``http://localhost:8080``. The scheme's default port is left out."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" if self.port == _PORTS[self.scheme] else f"{self.scheme}://{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine."""
        return self.host.rstrip(".") == "localhost" or (_is_ip(self.host) and ipaddress.ip_address(self.host).is_loopback)

    @property
    def is_numeric(self) -> bool:
        """Whether the host is an IP address, which needs no lookup of a name."""
        return _is_ip(self.host)

    def __str__(self) -> str:
        return self.origin + self.prefix

    def url(self, path: str) -> str:
        """Return the URL of a path of the protocol, such as ``/api/training``."""
        return self.origin + self.prefix + path

    def own_url(self, stated: str) -> str:
        """Return the URL with the path and the query of `stated` at the origin of this address.

        `stated` is a URL from an answer of the server, such as `playUrl`. Raises `ValueError` if it is not a URL with a proper
        path. The message does not quote it.
        """
        try:
            parts = urlsplit(stated)
        except ValueError:
            raise ValueError("it is not a URL") from None
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        if not path.startswith("/") or path.startswith("//") or _UNSAFE.search(path) or "/../" in path:
            raise ValueError("it has no proper path")
        if self.prefix and not path.startswith(f"{self.prefix}/"):
            path = self.prefix + path
        return self.origin + path

    def owns(self, stated: str) -> bool:
        """Return whether the URL `stated` has the scheme, host and port of this address."""
        try:
            parts = urlsplit(stated)
            port = parts.port if parts.port is not None else _PORTS.get(parts.scheme)
        except ValueError:
            return False
        return (parts.scheme, parts.hostname, port) == (self.scheme, self.host, self.port)


def is_old_domain(host: str) -> bool:
    """Return whether a host is in the domain of the original public server."""
    name = host.rstrip(".").lower()
    return name == OLD_DOMAIN or name.endswith(f".{OLD_DOMAIN}")


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def lan_address() -> str:
    """Return the IP address of this machine in its local network, or its host name if there is no network. Sends nothing."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.connect(("192.0.2.1", 9))  # sends nothing, but selects the network interface
        return str(connection.getsockname()[0])
    return socket.gethostname()
