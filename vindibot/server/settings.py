"""The settings of a server."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, SecretStr, field_validator

from vindibot.config.settings import OptionalFile, Settings

SHORTEST_ADMIN_KEY = 12

#: The default settings of `vindibot serve` where they differ from the defaults of an embedded server.
COMMAND_DEFAULTS = {"port": 9000, "keys": "any"}


class ServerSettings(Settings):
    """The settings of a server. Unknown fields are refused.

    With `pace` "original", the shortest times of moves are those of the original server: a move takes effect at least 60 ms after
    the player got the state, and a random bot of the server takes 150 ms for a move. With "none" there are no shortest times.
    """

    model_config = ConfigDict(strict=False)

    host: str = Field(default="127.0.0.1", min_length=1, description="address to listen on; the default: only from this machine")
    port: int = Field(default=0, ge=0, le=65535, description="port to listen on; 0 takes a free one")
    time_limit_ms: int = Field(default=1000, ge=1, le=86_400_000, description="time for a move in milliseconds")
    first_limit_ms: int | None = Field(
        default=None,
        ge=1,
        le=86_400_000,
        description="time for the first move of each hero in milliseconds, if it is longer; the time limit if missing",
    )
    pace: Literal["none", "original"] = Field(
        default="none", description="shortest times of moves: none, or as on the original server"
    )
    seed: int | None = Field(default=None, ge=0, description="seed of maps and random bots; random if missing")
    rounds: int = Field(default=300, ge=1, le=100_000, description="number of rounds (four plies) of an arena game")
    keys: Literal["registered", "any"] = Field(
        default="registered",
        description="keys that may play: registered ones, or any (an unknown key of 8 characters is registered)",
    )
    max_body: int = Field(default=102_400, ge=1, description="longest body of a request, in bytes; a longer one gets a 413")
    body_seconds: float = Field(default=10.0, gt=0, description="time for the body of a request to arrive, in seconds")
    max_games: int = Field(default=2_000, ge=1, description="largest number of games in memory, running or recently finished")
    max_waiting: int = Field(default=1_000, ge=1, description="largest number of clients that wait for an arena game")
    heroes_per_key: int = Field(
        default=50, ge=1, description="largest number of heroes that one key plays or waits with; further requests get a 429"
    )
    heroes_per_address: int = Field(
        default=800,
        ge=1,
        description="largest number of heroes that one address plays or waits with; further requests get a 429",
    )
    streams_per_address: int = Field(
        default=300, ge=1, description="largest number of event streams of one address; further requests get a 429"
    )
    requests_per_address: int = Field(
        default=3_000, ge=1, description="largest number of open requests of one address; further ones get a 429"
    )
    forwarded_allow_ips: str = Field(
        default="",
        description="addresses of proxies, with commas: their headers X-Forwarded-For and X-Forwarded-Proto are trusted",
    )
    wrong_keys_per_address: int = Field(
        default=60,
        ge=1,
        description="largest number of wrong keys per minute and address; further ones get a 429",
    )
    registrations_per_address: int = Field(
        default=60,
        ge=1,
        description="largest number of new bots per minute and address; further requests get a 429",
    )
    registrations_per_minute: int = Field(
        default=600, ge=1, description="largest number of new bots per minute; further requests get a 429"
    )
    max_bots: int = Field(default=100_000, ge=1, description="largest number of registered bots; further registrations get a 503")
    admin_key: SecretStr | None = Field(
        default=None, description="the administrator's key, for /api/admin; without it there is no /api/admin"
    )
    max_streams: int = Field(default=1_000, ge=1, description="largest number of event streams; further requests get a 503")
    stalled_seconds: float = Field(
        default=10.0, gt=0, description="seconds after which a spectator that does not read its stream is disconnected"
    )
    db: OptionalFile = Field(
        default=None,
        description="SQLite file for bots, ratings and games; without it they are lost when the server ends",
    )
    keep_finished_seconds: float = Field(default=60.0, ge=0, description="seconds for which a finished game stays in memory")

    @field_validator("admin_key")
    @classmethod
    def _long_enough(cls, key: SecretStr | None) -> SecretStr | None:
        if key is not None and len(key.get_secret_value()) < SHORTEST_ADMIN_KEY:
            raise ValueError(f"must have at least {SHORTEST_ADMIN_KEY} characters")
        return key
