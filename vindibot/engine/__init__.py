"""The parts that choose a move before the deadline: agent, process pool, deadline, health of the traits."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
