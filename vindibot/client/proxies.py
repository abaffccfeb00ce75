"""The proxy that the environment names for a server.

The variables are the usual ones: ``http_proxy`` or ``https_proxy`` (by the scheme of the server's address), else ``all_proxy``;
``no_proxy`` lists the servers without a proxy. Each name may also be in capitals. If both names are set, the small one counts.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from vindibot.base.address import ServerAddress
from vindibot.base.errors import UsageError

_PORT = re.compile(r"(?P<host>\[[^]]*\]|[^:]*):(?P<port>\d+)")


@dataclass(frozen=True)
class Proxy:
    """A proxy. `url` may hold a user name and a password. `address` is the URL without them, `variable` the variable's name."""

    url: str = field(repr=False)
    address: str
    variable: str

    @property
    def encrypted(self) -> bool:
        """Whether the connection to the proxy is encrypted."""
        return self.address.startswith("https:")

    def __str__(self) -> str:
        return f"{self.address} ({self.variable})"


def proxy_for(address: ServerAddress, environ: Mapping[str, str] | None = None) -> Proxy | None:
    """Return the proxy for a server, None if there is none. A server on this machine never gets a proxy.

    `environ` replaces the environment of this process. Raises `UsageError` if the variable does not hold the URL of a proxy.
    """
    environ = os.environ if environ is None else environ
    _, exceptions = _variable(environ, "no_proxy")
    if address.is_loopback or _is_exception(address, exceptions):
        return None
    for name in (f"{address.scheme}_proxy", "all_proxy"):
        variable, text = _variable(environ, name)
        if text:
            return _parsed(variable, text)
    return None


def _variable(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    """Return the name of a variable, in small letters or in capitals, and its value, "" if it is not set."""
    found = name if name in environ else name.upper()
    return found, environ.get(found, "").strip()


def _parsed(variable: str, text: str) -> Proxy:
    try:
        parts = urlsplit(text)
        port = parts.port
        host = parts.hostname or ""
    except ValueError:
        raise _refused(variable, "its host or port cannot be read") from None
    if "://" not in text:
        raise _refused(variable, "the scheme is missing")
    if parts.scheme not in ("http", "https"):
        raise _refused(variable, f"a proxy with the scheme {parts.scheme!r:.20} cannot be used")
    if not host or re.search(r"[^!-~]", text):
        raise _refused(variable, "it names no host")
    shown = f"[{host}]" if ":" in host else host
    return Proxy(text, f"{parts.scheme}://{shown}" + (f":{port}" if port is not None else ""), variable)


def _refused(variable: str, words: str) -> UsageError:
    advice = "set it to http://HOST:PORT, or unset it, or add the server's host to no_proxy"
    return UsageError(f"the environment variable {variable} is not the URL of a proxy: {words}; {advice}")


def _is_exception(address: ServerAddress, exceptions: str) -> bool:
    """Return whether a list of exceptions holds a server.

    An exception is ``*`` (all servers), a domain with all its hosts, an IP address, or a range of IP addresses (``10.0.0.0/8``).
    A domain or an address may end with a port.
    """
    for entry in re.split(r"[,\s]+", exceptions.lower()):
        name = entry
        if found := _PORT.fullmatch(entry):
            if int(found["port"]) != address.port:
                continue
            name = found["host"]
        if name == "*" or _holds(name.strip("[]"), address):
            return True
    return False


def _holds(name: str, address: ServerAddress) -> bool:
    if address.is_numeric:
        try:
            return ipaddress.ip_address(address.host) in ipaddress.ip_network(name, strict=False)
        except ValueError:
            return False
    domain, host = name.removeprefix("*").strip("."), address.host.rstrip(".")
    return bool(domain) and (host == domain or host.endswith(f".{domain}"))
