"""Tournaments: bots play many games against each other, and the results say which bot is better and how certain this is."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
