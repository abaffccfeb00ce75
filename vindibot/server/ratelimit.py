"""Rate limits: how often an event with a certain key, such as an address, may happen."""

from __future__ import annotations

import ipaddress
import math
import time
from collections.abc import Callable

from fastapi import Request

#: Largest number of keys that are counted. When there are more, the least recently used key is dropped.
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
    """Return the address that a request comes from. For a request through a proxy, return the address of the proxy."""
    return network_of(request.client.host if request.client is not None else "")


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
