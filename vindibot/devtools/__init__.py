"""Tools for people who write traits: conformance, explanations, timings, search trees, the doctor, new projects."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
