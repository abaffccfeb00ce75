"""The page of a game: its data (docs/viewer-format.md), the page itself, and our own games live in it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
