"""The game server: rooms (running games), matchmaking, leagues, and the HTTP interface for clients."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
