"""Play by hand: a person steers a hero in a page, and bots play against it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
