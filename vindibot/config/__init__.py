"""Everything that people write in TOML: found, read, merged, checked, with messages that say where a slip is."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
