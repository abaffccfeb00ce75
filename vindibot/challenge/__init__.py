"""Games by hand: a person moves a hero on a page, and bots play against this hero."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
