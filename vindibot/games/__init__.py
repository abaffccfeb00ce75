"""What a game is, on the wire and at rest: protocol, ballots, recordings, game records, and whether they obey the rules."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
