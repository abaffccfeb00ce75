"""Registrations of new bots, with limits per address and for the whole server."""

from __future__ import annotations

import math

from vindibot.server.ratelimit import RateLimit
from vindibot.server.refusal import Refusal
from vindibot.server.settings import ServerSettings
from vindibot.server.users import Users

#: Seconds for the header Retry-After if the server already has its largest number of bots.
FULL_SECONDS = 3600


class Registrations:
    """Registers bots within the limits of the settings.

    The limits per minute do not count bots of a league, or bots that the administrator registers.
    """

    def __init__(self, settings: ServerSettings, users: Users) -> None:
        self._users = users
        self._max_bots = settings.max_bots
        self._by_address = RateLimit(60 / settings.registrations_per_address, settings.registrations_per_address)
        self._from_all = RateLimit(60 / settings.registrations_per_minute, settings.registrations_per_minute)

    async def sign_up(self, name: str, address: str) -> str:
        """Register a bot from `address` and return its key.

        Raises `RegistrationError` if the name is not accepted, and `Refusal` if there are too many registrations.
        """
        self._users.check_name(name)
        self.count(address)
        return await self._users.sign_up(name)

    def count(self, address: str) -> None:
        """Count a new bot from `address` towards the limits. Raises `Refusal` if there are too many registrations."""
        if len(self._users) >= self._max_bots:
            raise Refusal(503, "Vindinium - The server has no space for new bots", retry_after=FULL_SECONDS)
        limits = [(self._by_address, address, " from your address"), (self._from_all, "", "")]
        for limit, key, where in limits:
            wait = math.ceil(limit.wait(key))
            if wait > 0:
                raise Refusal(429, f"Vindinium - Too many registrations{where}, try again in {wait} s", retry_after=wait)
        for limit, key, _ in limits:
            limit.take(key)
