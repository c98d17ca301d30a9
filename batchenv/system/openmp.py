"""One OpenMP runtime in the process, whichever of batchenv and torch is imported first.

torch's wheels carry a libgomp of their own. Two copies in one process each keep their threads spinning on the same
cores, which slows both down many times over. batchenv's extension takes its OpenMP functions from what is loaded
globally, so torch's copy is loaded that way first, without importing torch.
"""

import ctypes
import glob
import importlib.util
import os
import sys


def share_runtime():
    """Loads torch's libgomp, if torch is installed and has one, before batchenv's extension looks for its own."""
    if sys.platform != "linux" or "torch" in sys.modules:
        return
    try:
        found = importlib.util.find_spec("torch")
    except (ImportError, ValueError):
        return
    for folder in (found.submodule_search_locations or []) if found else []:
        for library in glob.glob(os.path.join(glob.escape(folder), "lib", "libgomp*.so*")):
            try:
                ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
                return
            except OSError:
                continue
