"""Limits on what one address may do in a time: registrations, wrong tokens."""

from __future__ import annotations

import ipaddress
import math
import time
from collections.abc import Callable

from fastapi import Request

#: Keys that are remembered; of more, those that were used least lately are forgotten.
MAX_KEYS = 10_000


class RateLimit:
    """Allows each key `burst` events at once, and then one per `interval` seconds.

    This is the generic cell rate algorithm: all that is kept of a key is the time at which its events would be paid off.
    """

    def __init__(self, interval: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval = interval
        self._tolerance = interval * (burst - 1)
        self._clock = clock
        self._paid_off: dict[str, float] = {}

    def wait(self, key: str) -> float:
        """The seconds until the next event of this key is allowed; 0 if it is allowed now. Counts nothing."""
        return max(0.0, self._paid_off.get(key, -math.inf) - self._tolerance - self._clock())

    def take(self, key: str) -> float:
        """As `wait`, and count an event of this key, whether it is allowed yet or not."""
        wait = self.wait(key)
        # Put at the end again: the first keys are those that were used least lately.
        paid_off = max(self._clock(), self._paid_off.pop(key, -math.inf)) + self._interval
        self._paid_off[key] = paid_off
        if len(self._paid_off) > MAX_KEYS:
            del self._paid_off[next(iter(self._paid_off))]
        return wait


def client_address(request: Request) -> str:
    """The address that a request comes from; of IPv6 the network of 64 bits, all of which belongs to one customer.

    Behind a proxy, it is the address of the proxy.
    """
    host = request.client.host if request.client is not None else ""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))
