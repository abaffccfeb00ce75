"""The page of a game, the page's data (docs/viewer-format.md), and a server for the pages of our running games."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
