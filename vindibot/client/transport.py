"""HTTP requests, each with a limit for its total time.

httpx limits the time of each read, not of the whole request, so a slow body can exceed every timeout. In this module each request
has two time limits: one until the head of the answer has come, and one from then until the last byte.

In httpx, a cancelled request can keep its place in the connection pool for ever. So after a fault or a cancellation this module
closes the httpx client, and the next request opens a new connection.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx

from vindibot import __version__
from vindibot.base.address import ServerAddress
from vindibot.base.errors import VindibotError
from vindibot.base.output.redaction import Redactor, redact_library_logs
from vindibot.client.proxies import Proxy, proxy_for
from vindibot.client.trust import trusting, trusting_nobody

#: Seconds after which an idle connection is not used again. Servers close an idle connection after 5 seconds (uvicorn) or more.
KEEPALIVE_SECONDS = 4.0
#: Seconds without data after which an answer that may never end counts as broken off.
QUIET_SECONDS = 60.0
#: Largest size of an answer in bytes. Answers of the protocol are much smaller.
MAX_BODY_BYTES = 1 << 20
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
    `proxy` is the proxy that passed the answer on, or made it.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    head_at: float
    received_at: float
    proxy: Proxy | None = None


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

    The environment may name a proxy and the certificates to trust. `UsageError` is raised if it names them wrongly.
    `connect_seconds` is the time that the fastest connection so far took to open, None before the first connection.
    """

    def __init__(self, address: ServerAddress, redact: Redactor) -> None:
        self._address = address
        self._redact = redact
        self.proxy = proxy_for(address)
        if self.proxy is not None and (password := urlsplit(self.proxy.url).password):
            redact.add(password)
        encrypted = address.scheme == "https" or (self.proxy is not None and self.proxy.encrypted)
        self._context = trusting() if encrypted else trusting_nobody()
        self._client: httpx.AsyncClient | None = None
        self._connecting_since = 0.0
        self.connect_seconds: float | None = None
        redact_library_logs()

    @property
    def route(self) -> str:
        """The server's address, and the proxy if there is one, as text for a message."""
        return str(self._address) if self.proxy is None else f"{self._address} through the proxy {self.proxy}"

    async def get(self, url: str, within: Within) -> Reply:
        """Send a GET request and return the reply."""
        return await self._request("GET", url, None, within)

    async def post(self, url: str, form: Mapping[str, str], within: Within) -> Reply:
        """Send a form in a POST request and return the reply."""
        return await self._request("POST", url, form, within)

    @asynccontextmanager
    async def stream(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[tuple[int, AsyncIterator[bytes]]]:
        """Open a URL whose answer may never end. Yield the HTTP status and an iterator of the pieces of the body as they arrive.

        `QUIET_SECONDS` without data are a fault. A fault raises `TransportError`, also while the caller reads the pieces.
        """
        client = self._client = self._client or self._open()
        within = Within()
        timeout = httpx.Timeout(QUIET_SECONDS, connect=within.connect, pool=within.connect)
        try:
            async with client.stream("GET", url, headers=headers, timeout=timeout) as response:
                yield response.status_code, response.aiter_raw()
            return
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError) as error:
            fault = self._fault(error, within)
        except BaseException:
            await self.aclose()
            raise
        await self.aclose()
        raise fault

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
            reason, final = _reason(error, "server" if self.proxy is None else "proxy")
            return TransportError(f"cannot connect to {self.route}: {reason or text}", final=final, sent=False)
        if isinstance(error, _TooLongError):
            return TransportError(f"the answer has more than {MAX_BODY_BYTES} bytes")
        return TransportError(f"the connection to {self.route} broke off: {text}")

    def _open(self) -> httpx.AsyncClient:
        """Return an httpx client with at most one connection."""
        limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEEPALIVE_SECONDS)
        proxy = (
            None
            if self.proxy is None
            else httpx.Proxy(self.proxy.url, ssl_context=self._context if self.proxy.encrypted else None)
        )
        transport = httpx.AsyncHTTPTransport(
            verify=self._context, trust_env=False, limits=limits, proxy=proxy, socket_options=_socket_options()
        )
        return httpx.AsyncClient(transport=transport, headers=_HEADERS, follow_redirects=False, trust_env=False)


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


def _socket_options() -> list[tuple[int, int, int]]:
    """Return the socket options for TCP keepalive. It detects a failed server while the client waits, perhaps for hours."""
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, name):
            options.append((socket.IPPROTO_TCP, getattr(socket, name), value))
    return options


# ---- Host names ----


async def look_up(address: ServerAddress) -> None:
    """Look up the server's host name. Raises `TransportError` if the look-up fails. Can be cancelled at once.

    asyncio looks up names in threads, and the program cannot end before these threads finish. Without a network, a look-up takes
    many seconds. So a daemon thread looks up the name first, and Ctrl-C ends the program at once.
    """
    if address.is_numeric or proxy_for(address) is not None:
        return
    loop = asyncio.get_running_loop()
    found: asyncio.Future[str | None] = loop.create_future()

    def set_result(problem: str | None) -> None:
        if not found.done():
            found.set_result(problem)

    def resolve() -> None:
        problem = None
        try:
            socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            problem = getattr(error, "strerror", None) or "it is no host name"
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(set_result, problem)

    threading.Thread(target=resolve, name="look-up", daemon=True).start()
    problem = await found
    if problem is not None:
        raise TransportError(f"cannot connect to {address}: the host's name cannot be looked up ({problem})")
