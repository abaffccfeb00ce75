"""HTTP requests, each with a limit for its total time.

httpx limits the time of each read, not of the whole request, so a slow body can exceed every timeout. In this module each request
has two time limits: one until the head of the answer has come, and one from then until the last byte.

In httpx, a cancelled request can keep its place in the connection pool for ever. So after a fault or a cancellation this module
closes the httpx client, and the next request opens a new connection.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from vindibot import __version__
from vindibot.base.address import ServerAddress
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.text import Redactor

#: Seconds after which an idle connection is not used again. Servers close an idle connection after 5 seconds (uvicorn) or more.
KEEPALIVE_SECONDS = 4.0
#: Largest size of an answer in bytes. Answers of the protocol are much smaller.
MAX_BODY_BYTES = 1 << 20
#: Variables of the environment that name proxies, and files of certificates to trust or of keys of connections to write.
PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
CERTIFICATE_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")
_HEADERS = {"User-Agent": f"vindibot/{__version__}", "Accept": "application/json", "Accept-Encoding": "identity"}
_CLOSE_SECONDS = 1.0


class TransportError(VindibotError):
    """A request failed: there was no connection, the connection broke off, or the answer was too late or too long.

    `final` is True if a repeat cannot succeed, for example because the server's certificate is not trusted. `sent` is False if
    the server has certainly received no part of the request.
    """

    def __init__(self, message: str, *, final: bool = False, sent: bool = True) -> None:
        super().__init__(message)
        self.final = final
        self.sent = sent


@dataclass(frozen=True)
class Reply:
    """A complete answer of the server. Header names are in lower case.

    `head_at` and `received_at` are the times (of `time.monotonic`) at which the head and the last byte of the answer came.
    `proxy` is the proxy that passed the answer on, or made it, "" for none.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    head_at: float
    received_at: float
    proxy: str = ""


@dataclass(frozen=True)
class Within:
    """The time limits of a request in seconds.

    - `connect`: from the start of the request until the connection is open.
    - `head`: from the start of the request until the head of the answer, None for no limit.
    - `body`: from the head of the answer until its last byte.
    """

    connect: float = 10.0
    head: float | None = 15.0
    body: float = 10.0


class Transport:
    """Sends requests to one server, one at a time. Does not follow redirects. Raises `TransportError` for every fault.

    For a server on another machine, the environment may name a proxy. For each server, it may name the certificates to trust.
    Raises `UsageError` if it names them wrongly.
    `connect_seconds` is the time that the fastest connection so far took to open, None before the first connection.
    """

    def __init__(self, address: ServerAddress, redact: Redactor) -> None:
        self._address = address
        self._redact = redact
        self.proxy = proxy_of(address)
        self._client: httpx.AsyncClient | None = self._open()
        self._connecting_since = 0.0
        self.connect_seconds: float | None = None
        for name in ("httpx", "httpcore"):  # they log the URLs of requests, which contain tokens
            logging.getLogger(name).setLevel(logging.WARNING)

    @property
    def route(self) -> str:
        """The server's address, and the proxy if there is one, as text for a message."""
        return f"{self._address} through the proxy {self.proxy}" if self.proxy else str(self._address)

    async def get(self, url: str, within: Within) -> Reply:
        """Send a GET request and return the reply."""
        return await self._request("GET", url, None, within)

    async def post(self, url: str, form: Mapping[str, str], within: Within) -> Reply:
        """Send a form in a POST request and return the reply."""
        return await self._request("POST", url, form, within)

    async def aclose(self) -> None:
        """Close the connection if there is one. The next request opens a new connection."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(TimeoutError, httpx.HTTPError, OSError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await client.aclose()

    async def _request(self, method: str, url: str, form: Mapping[str, str] | None, within: Within) -> Reply:
        client = self._client = self._client or self._open()
        phase = f"no answer within {_seconds(within.head)}"
        try:
            async with asyncio.timeout(within.head) as clock:
                request = client.build_request(
                    method,
                    url,
                    data=form,
                    timeout=httpx.Timeout(None, connect=within.connect, pool=within.connect),
                    extensions={"trace": self._trace},
                )
                response = await client.send(request, stream=True)
                try:
                    head_at = time.monotonic()
                    phase = f"only a part of the answer within {_seconds(within.body)}"
                    clock.reschedule(asyncio.get_running_loop().time() + within.body)
                    body = await _read(response)
                    received_at = time.monotonic()
                finally:
                    await response.aclose()
            return Reply(response.status_code, response.headers, body, head_at, received_at, self.proxy)
        except TimeoutError:
            fault = TransportError(phase)
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError) as error:
            fault = self._fault(error, within)
        except BaseException:
            await self.aclose()
            raise
        await self.aclose()
        # The error is raised outside the handler. Otherwise its context would be httpx's error, which refers to the request with
        # its secrets.
        raise fault

    async def _trace(self, event: str, info: Any) -> None:
        if event == "connection.connect_tcp.started":
            self._connecting_since = time.monotonic()
        elif event == "connection.connect_tcp.complete":
            _keep_alive(info["return_value"].get_extra_info("socket"))
            seconds = time.monotonic() - self._connecting_since
            self.connect_seconds = seconds if self.connect_seconds is None else min(seconds, self.connect_seconds)

    def _fault(self, error: Exception, within: Within) -> TransportError:
        text = self._redact(str(error)) or type(error).__name__
        if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
            return TransportError(f"no connection to {self.route} within {_seconds(within.connect)}", sent=False)
        if isinstance(error, httpx.ProxyError):
            final = text.startswith("4")  # the text begins with the status
            return TransportError(f"cannot connect to {self.route}: the proxy answers {text}", final=final, sent=False)
        if isinstance(error, httpx.ConnectError):
            reason, final = _reason(error, "proxy" if self.proxy else "server")
            return TransportError(f"cannot connect to {self.route}: {reason or text}", final=final, sent=False)
        if isinstance(error, _TooLongError):
            return TransportError(f"the answer has more than {MAX_BODY_BYTES} bytes")
        return TransportError(f"the connection to {self.route} broke off: {text}")

    def _open(self) -> httpx.AsyncClient:
        """Return an httpx client with at most one connection. Raises `UsageError` if a variable of the environment is wrong."""
        others = not self._address.is_loopback
        context = _certificates() if self._address.scheme == "https" else _no_certificates()
        limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEEPALIVE_SECONDS)
        try:
            urlsplit(f"//{self.proxy}").port  # noqa: B018  # raises an error if there can be no such port
            return httpx.AsyncClient(verify=context, trust_env=others, limits=limits, headers=_HEADERS, follow_redirects=False)
        except (ImportError, ValueError, httpx.InvalidURL):  # SOCKS, another scheme, a wrong port
            names = " or ".join(name for name in os.environ if name.lower() in PROXY_VARIABLES)
            advice = "a proxy is http://HOST:PORT, and no_proxy has hosts with commas between"
            raise UsageError(f"the environment variable {names} cannot be used: {advice}") from None


class _TooLongError(httpx.StreamError):
    pass


async def _read(response: httpx.Response) -> bytes:
    body = bytearray()
    async for part in response.aiter_raw():
        body += part
        if len(body) > MAX_BODY_BYTES:
            raise _TooLongError("too long")
    return bytes(body)


def _seconds(seconds: float | None) -> str:
    return "any time" if seconds is None else f"{seconds:.3g} s"


def _reason(error: BaseException, host: str) -> tuple[str, bool]:
    """Return the system's reason for a failed connection ("" if unknown), and whether the failure is final (a TLS fault).

    `host` is "server" or "proxy", the host to which the client connects.
    """
    cause: BaseException | None = error
    seen: list[BaseException] = []  # two errors can be the causes of each other
    while cause is not None and cause not in seen:
        seen.append(cause)
        if isinstance(cause, ConnectionRefusedError):
            return f"connection refused (is the {host} running there?)", False
        if isinstance(cause, socket.gaierror):
            whose = "host" if host == "server" else host
            return f"the {whose}'s name cannot be looked up ({cause.strerror})", False
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted ({cause.verify_message})", True
        if isinstance(cause, ssl.SSLError):
            return f"it does not speak https ({cause.reason or cause})", True
        if isinstance(cause, OSError) and cause.errno:
            return os.strerror(cause.errno).lower(), False
        first = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else None
        cause = first or cause.__cause__ or cause.__context__
    return "", False


def _keep_alive(connection: socket.socket) -> None:
    """Turn on TCP keepalive. It detects a failed server while the client waits, perhaps for hours."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


# ---- The environment ----


def proxy_of(address: ServerAddress) -> str:
    """Return the proxy that the environment names for a server, as HOST:PORT, "" for none. It has no user and no password."""
    proxies = getproxies()
    if address.is_loopback or proxy_bypass(f"{address.host}:{address.port}"):
        return ""
    return (proxies.get(address.scheme) or proxies.get("all", "")).rpartition("@")[2].rpartition("//")[2].rstrip("/")


@cache
def _certificates() -> ssl.SSLContext:
    """Return the context for encrypted connections. It is made once, which takes some time. Raises `UsageError`."""
    try:
        return httpx.create_ssl_context()
    except OSError as problem:  # also ssl.SSLError
        reason = "it holds no certificates" if isinstance(problem, ssl.SSLError) else problem.strerror or str(problem)
    names = " or ".join(name for name in CERTIFICATE_VARIABLES if os.environ.get(name))
    raise UsageError(f"the file of the environment variable {names} cannot be used: {reason}; correct it, or unset it")


@cache
def _no_certificates() -> ssl.SSLContext:
    """Return a context for connections without encryption. It is made much faster."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


# ---- Host names ----


async def look_up(address: ServerAddress) -> None:
    """Look up the server's host name. Raises `TransportError` if the look-up fails. Can be cancelled at once.

    asyncio looks up names in threads, and the program cannot end before these threads finish. Without a network, a look-up takes
    many seconds. So a daemon thread looks up the name first, and Ctrl-C ends the program at once.
    """
    if address.is_numeric or proxy_of(address):
        return
    loop = asyncio.get_running_loop()
    result: asyncio.Future[str | None] = loop.create_future()

    def set_result(problem: str | None) -> None:
        if not result.done():
            result.set_result(problem)

    def resolve() -> None:
        problem = None
        try:
            socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            problem = getattr(error, "strerror", None) or "it is not a host name"
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(set_result, problem)

    threading.Thread(target=resolve, name="look-up", daemon=True).start()
    problem = await result
    if problem is not None:
        raise TransportError(f"cannot connect to {address}: the host's name cannot be looked up ({problem})")
