"""What can be set on a server."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field, SecretStr, field_validator

from vindibot.config import Settings

SHORTEST_ADMIN_KEY = 12

#: What `vindibot serve` does unless told otherwise, where that is not what an embedded server does.
COMMAND_DEFAULTS = {"port": 9000, "keys": "any"}


class ServerSettings(Settings):
    """How a server plays and whom it lets in. Unknown fields are refused.

    `pace` "original" keeps the original server's minimum times: an order takes effect 60 ms after the state was handed out
    at the earliest, a bot of the server takes 150 ms. "none" waits for nobody.
    """

    model_config = ConfigDict(strict=False)

    host: str = Field(default="127.0.0.1", min_length=1, description="address to listen on; the default is this machine alone")
    port: int = Field(default=0, ge=0, le=65535, description="port to listen on; 0 takes a free one")
    time_limit_ms: int = Field(default=1000, ge=1, le=86_400_000, description="milliseconds a player has for a move")
    pace: Literal["none", "original"] = Field(
        default="none", description="minimum times of moves: none, or as the original server"
    )
    seed: int | None = Field(default=None, ge=0, description="seed of maps and server bots; without one every game is new")
    rounds: int = Field(default=300, ge=1, le=100_000, description="rounds (four plies) of an arena game")
    keys: Literal["registered", "any"] = Field(
        default="registered",
        description="who may play: registered keys, or any key (an unknown one of 8 characters is registered)",
    )
    max_body: int = Field(default=102_400, ge=1, description="longest body of a request in bytes")
    body_seconds: float = Field(default=10.0, gt=0, description="seconds within which the body of a request must arrive")
    head_seconds: float = Field(
        default=10.0, gt=0, description="seconds within which the head of a request must arrive, from its first byte"
    )
    max_connections: int = Field(default=10_000, ge=1, description="connections at once; beyond them requests get a 503")
    max_games: int = Field(default=2_000, ge=1, description="games at once, running or kept after their end")
    max_waiting: int = Field(default=1_000, ge=1, description="clients that wait for a game at once")
    registrations_per_address: int = Field(
        default=60, ge=1, description="new bots per minute from one address, by the page or by an unknown key; beyond them: 429"
    )
    registrations_per_minute: int = Field(
        default=600, ge=1, description="new bots per minute from all addresses; beyond them requests get a 429"
    )
    max_bots: int = Field(default=100_000, ge=1, description="bots that are registered; beyond them new ones get a 503")
    league: Path | None = Field(
        default=None, description="a league's file, or a folder of them, which are played; see `vindibot league`"
    )
    admin_key: SecretStr | None = Field(
        default=None, description="the administrator's key, for /api/admin; without one there is no administrator"
    )
    max_streams: int = Field(default=1_000, ge=1, description="spectators' event streams at once; beyond them requests get a 503")
    stalled_seconds: float = Field(
        default=10.0, gt=0, description="seconds after which a spectator who does not read what he is sent is dropped"
    )
    db: Path | None = Field(
        default=None,
        description="the SQLite file that keeps bots, ratings and games; without one they last as long as it runs",
    )
    keep_finished_seconds: float = Field(default=60.0, ge=0, description="seconds that a finished game can still be asked for")

    @field_validator("admin_key")
    @classmethod
    def _long_enough(cls, key: SecretStr | None) -> SecretStr | None:
        if key is not None and len(key.get_secret_value()) < SHORTEST_ADMIN_KEY:
            raise ValueError(f"must have at least {SHORTEST_ADMIN_KEY} characters")
        return key
