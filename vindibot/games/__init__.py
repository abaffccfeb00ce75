"""Games as data: protocol, ballots, recordings, game records and histories, and the check of games by the rules."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
