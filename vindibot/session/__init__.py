"""Whole games of one bot: joins, plays, records, shows, and goes on with the next."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
