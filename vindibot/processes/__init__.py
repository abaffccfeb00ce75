"""Child processes that run other people's code: the fork server, its children, and pools of them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
