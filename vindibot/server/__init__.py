"""The game server: rooms, matchmaking, leagues, and the HTTP that clients speak."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
