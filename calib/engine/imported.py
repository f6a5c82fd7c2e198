"""Imports what fits and pages load first, when it is imported itself: once, by Linux's fork server.

Workers are copies of that process. Starting one takes a tenth of a second where importing takes three, and the memory
of the modules is taken once.
"""

import gc
from importlib import import_module

MODULES = (
    *("distributed.nanny", "calib.engine.worker", "calib.diagnostics.judgement", "pandas"),
    *("scipy.interpolate", "scipy.optimize", "scipy.sparse.linalg", "scipy.special", "scipy.stats"),
)
for name in MODULES:
    import_module(name)
gc.freeze()  # a worker's collections would otherwise write to all that it shares
