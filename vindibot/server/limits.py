"""The limits for each key and each address, so that one client does not keep other clients from playing.

`RequestLimits` limits what every request shows: its lengths, its body, the number of open requests of its address. The routes
ask `ClientLimits` for all other limits. A new limit is a method here and a field of `ServerSettings`. A class behind one address
shares the limits of this address, so these limits are large. docs/deploy.md lists all limits.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Literal

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vindibot.server.refusal import Refusal
from vindibot.server.settings import ServerSettings

#: Seconds for the header Retry-After if the server already has its largest number of bots.
FULL_SECONDS = 3600
#: Seconds for the header Retry-After if a key or an address plays too many games.
BUSY_SECONDS = 5
#: Limits on requests with a wrong token, or a wrong key of the administrator, from one address: the number of requests that are
#: refused without a delay, the seconds that each further request adds to the delay, and the longest delay in seconds. If the
#: delay would be longer, the answer is a 429.
WRONG_AT_ONCE, WRONG_SECONDS, LONGEST_DELAY = 10, 0.2, 2.0
#: Largest number of keys that a `RateLimit` counts. When there are more, the least recently used key is dropped.
MAX_KEYS = 10_000


class RateLimit:
    """Allows each key `burst` events at once, and then one event per `interval` seconds. A key is any string, such as an address.

    This is the generic cell rate algorithm. For each key it stores one time: when the next event would come if all events so far
    had come `interval` seconds apart.
    """

    def __init__(self, interval: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval = interval
        self._tolerance = interval * (burst - 1)
        self._clock = clock
        self._even: dict[str, float] = {}

    def wait(self, key: str) -> float:
        """Return the seconds until the next event of this key is allowed, 0 if it is allowed now. Do not count an event."""
        return max(0.0, self._even.get(key, -math.inf) - self._tolerance - self._clock())

    def take(self, key: str) -> float:
        """Count an event of this key, even if it is not allowed. Return the result of `wait` before this event, in seconds."""
        wait = self.wait(key)
        # The key moves to the end of the dict, so that the first key is the least recently used one.
        self._even[key] = max(self._clock(), self._even.pop(key, -math.inf)) + self._interval
        if len(self._even) > MAX_KEYS:
            del self._even[next(iter(self._even))]
        return wait


def client_address(request: Request) -> str:
    """Return the address that a request comes from, as in `network_of`.

    For a request through a proxy, this is the client's address if the settings trust the proxy (`forwarded_allow_ips`), else the
    address of the proxy.
    """
    return network_of(request.client.host if request.client is not None else "")


@lru_cache(MAX_KEYS)
def network_of(host: str) -> str:
    """Return the IPv4 address `host`. For IPv6, return the network of the address's first 64 bits.

    All addresses in this network belong to one customer.
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address):
        return str(address.ipv4_mapped or ipaddress.ip_network((address, 64), strict=False))
    return str(address)


class Share:
    """Counts the places that each holder (a key or an address) has at the same time. Each holder may have up to `most` places."""

    def __init__(self, most: int, refusal: str) -> None:
        self._most, self._refusal = most, refusal
        self._places: Counter[str] = Counter()

    @contextmanager
    def place(self, holder: str) -> Iterator[None]:
        """Give this holder a place until the end of the block. Raises `Refusal` if it has no further place."""
        if self._places[holder] >= self._most:
            raise Refusal(429, f"{self._refusal}, try again later", BUSY_SECONDS)
        self._places[holder] += 1
        try:
            yield
        finally:
            self._places[holder] -= 1
            if not self._places[holder]:
                del self._places[holder]


class RequestLimits:
    """Middleware (ASGI) that reads the body of each request before the application, and refuses what exceeds a limit.

    - The request has at most one of the headers Content-Length and Transfer-Encoding (RFC 9112, section 6.1). A proxy and a
      server may disagree about the end of a request with both. Then its body can hide a second request from the proxy.
    - Its body has at most `max_body` bytes, and arrives within `body_seconds`.
    - Its address has at most `requests_per_address` open requests.
    """

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._settings = settings
        self._requests = Share(settings.requests_per_address, "Vindinium - Too many requests from your address")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by the application, or by a refusal that closes the connection."""
        try:
            with self._requests.place(network_of(scope["client"][0] if scope["client"] else "")):
                body = await self._read_body(scope["headers"], receive)
                await self._app(scope, _received(body, receive), send)
        except Refusal as refusal:
            response = refusal.response(scope["path"], self._settings)
            response.headers["Connection"] = "close"
            await response(scope, receive, send)

    async def _read_body(self, headers: list[tuple[bytes, bytes]], receive: Receive) -> bytes:
        lengths = {name: value for name, value in headers if name in (b"content-length", b"transfer-encoding")}
        if len(lengths) > 1:
            raise Refusal(400, "A request has either Content-Length or Transfer-Encoding, not both")
        if int(lengths.get(b"content-length", b"0")[:20]) > self._settings.max_body:
            raise self._too_long()
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                return await self._collect(receive)
        except TimeoutError:
            raise Refusal(408, "The body of the request did not arrive in time") from None

    async def _collect(self, receive: Receive) -> bytes:
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise Refusal(400, "The body of the request is incomplete")
            body += message.get("body", b"")
            if len(body) > self._settings.max_body:
                raise self._too_long()
            if not message.get("more_body", False):
                return bytes(body)

    def _too_long(self) -> Refusal:
        return Refusal(413, f"The body of a request has at most {self._settings.max_body} bytes")


def _received(body: bytes, receive: Receive) -> Receive:
    """Return a function like `receive` that first returns `body`, which was read already."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again


class ClientLimits:
    """All limits for keys and addresses. An address is a result of `client_address`."""

    def __init__(self, settings: ServerSettings) -> None:
        self._heroes_of_key = Share(settings.heroes_per_key, "Vindinium - Your key plays too many games at once")
        self._heroes_of_address = Share(settings.heroes_per_address, "Vindinium - Your address plays too many games at once")
        self._streams_of_address = Share(settings.streams_per_address, "Too many streams go to your address")
        self._bots_of_address = _per_minute(settings.registrations_per_address)
        self._bots_of_all = _per_minute(settings.registrations_per_minute)
        self._max_bots = settings.max_bots
        self._wrong_keys = _per_minute(settings.wrong_keys_per_address)
        self._guesses = {what: RateLimit(WRONG_SECONDS, WRONG_AT_ONCE) for what in ("tokens", "keys")}

    # ---- Places ----

    def hero(self, user_id: str, address: str) -> ExitStack:
        """Return a place for a hero, from the request for a game until the end of the game. Raises `Refusal`."""
        with ExitStack() as places:
            places.enter_context(self._heroes_of_key.place(user_id))
            places.enter_context(self._heroes_of_address.place(address))
            return places.pop_all()

    def stream(self, address: str) -> ExitStack:
        """Return a place for a stream. Raises `Refusal`."""
        places = ExitStack()
        places.enter_context(self._streams_of_address.place(address))
        return places

    # ---- Keys ----

    def count_wrong_key(self, address: str) -> None:
        """Count a wrong key from this address. Raises `Refusal` if there were too many."""
        _check(self._wrong_keys, address, "Vindinium - Too many wrong keys from your address")
        self._wrong_keys.take(address)

    async def delay_guess(self, what: Literal["tokens", "keys"], address: str) -> None:
        """Delay the answer to a wrong token, or a wrong key of the administrator. Each one from an address adds to the delay.

        Raises `Refusal` if the delay would be longer than `LONGEST_DELAY`. Requests with a right token must not be delayed.
        Otherwise one client could keep other clients with the same address from playing.
        """
        limit = self._guesses[what]
        wait = limit.wait(address)
        if wait > LONGEST_DELAY:
            raise Refusal(429, f"Vindinium - Too many wrong {what}, try again later", retry_after=wait)
        limit.take(address)
        await asyncio.sleep(wait)

    # ---- Registrations ----

    def count_registration(self, address: str, bots: int) -> None:
        """Count a new bot from `address`, where the server has this number of `bots`. Raises `Refusal` if there are too many.

        Bots of a league, and bots that the administrator registers, do not count.
        """
        if bots >= self._max_bots:
            raise Refusal(503, "Vindinium - The server has no space for new bots", retry_after=FULL_SECONDS)
        _check(self._bots_of_address, address, "Vindinium - Too many registrations from your address")
        _check(self._bots_of_all, "", "Vindinium - Too many registrations")
        self._bots_of_address.take(address)
        self._bots_of_all.take("")


def _per_minute(count: int) -> RateLimit:
    return RateLimit(60 / count, count)


def _check(limit: RateLimit, holder: str, refusal: str) -> None:
    wait = math.ceil(limit.wait(holder))
    if wait > 0:
        raise Refusal(429, f"{refusal}, try again in {wait} s", retry_after=wait)
