"""Tuning: learns parameters of bots from games, and tests whether a tuned bot is stronger."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
