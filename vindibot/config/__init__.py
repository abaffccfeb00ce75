"""The TOML files that users write: lookup, reading, merging, checks, and messages that name the line of an error."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
