"""Estimates from games in blocks, each with its uncertainty: ratings, differences, shares, rates, means, sequential tests."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
