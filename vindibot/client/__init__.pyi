from .game_client import (
    ClientEvents as ClientEvents,
    ClientSettings as ClientSettings,
    GameClient as GameClient,
)
from .queue import GameQueue as GameQueue
from .transport import (
    Transport as Transport,
    TransportError as TransportError,
    Within as Within,
    look_up as look_up,
)
