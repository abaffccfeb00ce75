"""The client of a game server: it joins games, sends moves, reads replies, and recovers from faults of the network."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
