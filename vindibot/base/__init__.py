"""Code that all other packages of vindibot use: errors, log, redaction, printable text, pages, safe writing, keys, addresses,
processes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
