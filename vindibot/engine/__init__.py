"""From a state to a move, in time: the agent, the process pool, the deadline, and the health of traits."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
