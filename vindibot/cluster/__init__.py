"""Plays the games of a tournament on many machines, which Dask connects."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
