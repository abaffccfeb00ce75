"""One request with a total deadline, on a disposable httpx client.

httpx limits the time of each read, not of a request, so a body that dribbles outlives any timeout of its own; and a
cancelled request can keep its slot in the connection pool for ever. So each request has one clock here (until the head of
the answer, and from there until the last byte), and after any fault or cancellation the client is thrown away: the next
request begins on a fresh connection.
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
from functools import cache
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpx

from vindibot import __version__
from vindibot.base import Redactor, ServerAddress, VindibotError, redact_library_logs

#: An idle connection is not used again after this many seconds; servers close them after 5 (uvicorn) or more.
KEEPALIVE_SECONDS = 4.0
#: No answer of the protocol comes near this size.
MAX_BODY_BYTES = 1 << 20
_HEADERS = {"User-Agent": f"vindibot/{__version__}", "Accept": "application/json", "Accept-Encoding": "identity"}
_CLOSE_SECONDS = 1.0


class TransportError(VindibotError):
    """Nothing usable came back: no connection, a cut one, an answer too late or too long.

    `final` is set where trying again is pointless (a certificate that does not fit), `sent` unless it is certain that the
    server has seen nothing of the request.
    """

    def __init__(self, message: str, exit_code: int = 1, *, final: bool = False, sent: bool = True) -> None:
        super().__init__(message, exit_code)
        self.final = final
        self.sent = sent


@dataclass(frozen=True)
class Reply:
    """A whole answer: header names in lower case, and the moments (`time.monotonic`) of its head and of its last byte."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    head_at: float
    received_at: float


@dataclass(frozen=True)
class Within:
    """The seconds a request may take: to connect; in all until the head of the answer (None: any time); then for its body."""

    connect: float = 10.0
    head: float | None = 15.0
    body: float = 10.0


class Transport:
    """Requests to one server, one at a time, without redirects. Faults are `TransportError`; nothing else is raised.

    `connect_seconds` is the shortest time that a connection took so far, or None before the first.
    """

    def __init__(self, address: ServerAddress, redact: Redactor) -> None:
        self._address = address
        self._redact = redact
        self._client: httpx.AsyncClient | None = None
        self._connecting_since = 0.0
        self.connect_seconds: float | None = None
        redact_library_logs()

    async def get(self, url: str, within: Within) -> Reply:
        """Fetch a page."""
        return await self._request("GET", url, None, within)

    async def post(self, url: str, form: Mapping[str, str], within: Within) -> Reply:
        """Send a form."""
        return await self._request("POST", url, form, within)

    @asynccontextmanager
    async def stream(
        self, url: str, headers: Mapping[str, str], *, connect: float = 10.0, quiet: float = 60.0
    ) -> AsyncIterator[tuple[int, AsyncIterator[bytes]]]:
        """Fetch a page that may never end: its status, and its body in pieces as they come. `quiet` seconds without a sign of
        life are a fault. Faults within the block, while the pieces are read, are `TransportError` too."""
        client = self._client = self._client or _open(self._address)
        timeout = httpx.Timeout(quiet, connect=connect, pool=connect)
        try:
            async with client.stream("GET", url, headers=headers, timeout=timeout) as response:
                yield response.status_code, response.aiter_raw()
            return
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError) as error:
            fault = self._fault(error, Within(connect=connect))
        except BaseException:
            await self.aclose()
            raise
        await self.aclose()
        raise fault

    async def aclose(self) -> None:
        """Close the connection, if there is one. The next request opens another."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(TimeoutError, httpx.HTTPError, OSError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await client.aclose()

    async def _request(self, method: str, url: str, form: Mapping[str, str] | None, within: Within) -> Reply:
        client = self._client = self._client or _open(self._address)
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
            return Reply(response.status_code, response.headers, body, head_at, received_at)
        except TimeoutError:
            fault = TransportError(phase)
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError) as error:
            fault = self._fault(error, within)
        except BaseException:
            await self.aclose()
            raise
        await self.aclose()
        # Raised out here, so that the library's error, which refers to the request with its secrets, is no part of it.
        raise fault

    async def _trace(self, event: str, info: Any) -> None:
        if event == "connection.connect_tcp.started":
            self._connecting_since = time.monotonic()
        elif event == "connection.connect_tcp.complete":
            seconds = time.monotonic() - self._connecting_since
            self.connect_seconds = seconds if self.connect_seconds is None else min(seconds, self.connect_seconds)

    def _fault(self, error: Exception, within: Within) -> TransportError:
        said = self._redact(str(error)) or type(error).__name__
        if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
            return TransportError(f"no connection to {self._address} within {_seconds(within.connect)}", sent=False)
        if isinstance(error, httpx.ConnectError):
            reason, final = _reason(error)
            return TransportError(f"cannot connect to {self._address}: {reason or said}", final=final, sent=False)
        if isinstance(error, _TooLongError):
            return TransportError(f"an answer of more than {MAX_BODY_BYTES} bytes")
        return TransportError(f"the connection to {self._address} broke off: {said}")


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


def _reason(error: BaseException) -> tuple[str, bool]:
    """What the system said about a failed connection ("" if nothing), and whether it is final: a TLS that does not fit."""
    cause: BaseException | None = error
    seen: list[BaseException] = []  # errors that are raised again can be causes of each other
    while cause is not None and cause not in seen:
        seen.append(cause)
        if isinstance(cause, ConnectionRefusedError):
            return "connection refused (is the server running there?)", False
        if isinstance(cause, socket.gaierror):
            return f"the host's name cannot be looked up ({cause.strerror})", False
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted ({cause.verify_message})", True
        if isinstance(cause, ssl.SSLError):
            return f"it does not speak https ({cause.reason or cause})", True
        if isinstance(cause, OSError) and cause.errno:
            return os.strerror(cause.errno).lower(), False
        first = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else None
        cause = first or cause.__cause__ or cause.__context__
    return "", False


# ---- The httpx client ----


def _open(address: ServerAddress) -> httpx.AsyncClient:
    """A client with one connection. Costs 0.2 ms: certificates are loaded once per process, and only where needed."""
    proxy = _proxy(address)
    context = _trusting() if address.scheme == "https" or proxy is not None else _trusting_nobody()
    limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEEPALIVE_SECONDS)
    transport = httpx.AsyncHTTPTransport(
        verify=context, trust_env=False, limits=limits, proxy=proxy, socket_options=_socket_options()
    )
    return httpx.AsyncClient(transport=transport, headers=_HEADERS, follow_redirects=False, trust_env=False)


def _proxy(address: ServerAddress) -> str | None:
    """The proxy that the environment names for this server, if any; never one for this machine."""
    if address.is_loopback or proxy_bypass(address.host):
        return None
    return getproxies().get(address.scheme)


def _socket_options() -> list[tuple[int, int, int]]:
    """TCP's own signs of life: waiting for opponents may take hours, and a machine that is gone should be noticed."""
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, name):
            options.append((socket.IPPROTO_TCP, getattr(socket, name), value))
    return options


@cache
def _trusting() -> ssl.SSLContext:
    return httpx.create_ssl_context()


@cache
def _trusting_nobody() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


# ---- Names ----


async def look_up(address: ServerAddress) -> None:
    """Look up the server's name; a `TransportError` if that fails. Can be cancelled at once.

    asyncio looks names up in threads that a program waits for when it ends, which offline takes many seconds. Here a
    daemon thread asks first, so that whoever presses Ctrl-C meanwhile is free at once.
    """
    if address.is_numeric or _proxy(address) is not None:
        return
    loop = asyncio.get_running_loop()
    found: asyncio.Future[str | None] = loop.create_future()

    def tell(problem: str | None) -> None:
        if not found.done():
            found.set_result(problem)

    def ask() -> None:
        problem = None
        try:
            socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            problem = getattr(error, "strerror", None) or "it is no host name"
        with suppress(RuntimeError):  # the loop is gone: nobody wants to know any more
            loop.call_soon_threadsafe(tell, problem)

    threading.Thread(target=ask, name="look-up", daemon=True).start()
    problem = await found
    if problem is not None:
        raise TransportError(f"cannot connect to {address}: the host's name cannot be looked up ({problem})")
