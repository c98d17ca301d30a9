"""Imports of what is needed first when an env is made, perhaps while another thread forks."""

from __future__ import annotations

import os
import threading

# Held during such an import. A child of fork() has only the thread that forked: if another one was importing a module,
# the child would wait for that module for ever. So forks wait until the import is done.
importing = threading.RLock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=importing.acquire, after_in_parent=importing.release, after_in_child=importing.release)
