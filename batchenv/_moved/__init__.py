"""Old names of what has moved: they still work, and a DeprecationWarning says the new one.

This folder is part of batchenv's `__path__`: a file in it is found under the name that a module had before it moved.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any


def moved(old: str, new: str, **elsewhere: str) -> Callable[[str], Any]:
    """A `__getattr__` for the module `old`, whose names are in the module `new` now; some of them elsewhere."""

    def __getattr__(name: str) -> Any:
        home = elsewhere.get(name, new)
        if name.startswith("__") or not home:
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(home), name)
        warnings.warn(f"{old}.{name} is now {home}.{name}: import it from there", DeprecationWarning, stacklevel=2)
        return value

    return __getattr__
