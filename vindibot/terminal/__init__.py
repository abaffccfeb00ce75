"""Output in a terminal: boards, and games that are played or watched."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
