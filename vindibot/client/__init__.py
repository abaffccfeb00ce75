"""One player's side of the wire: joining, moves, replies, and what to do when the network fails."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
