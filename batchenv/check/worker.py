"""Runs checks in a process of its own: reads a job from stdin, writes a line of JSON per event to stdout.

Events: {"ready": ...}; where the job does not say what is to be checked, {"parts": ..., "notes": ..., "name": ...};
{"status": ..., "detail": ...} for each check, in the order of the parts; {"refused": text} if there is no such target.
A job that names a library and no target gets {"ids": ..., "over_model": ...} of the library, and nothing else.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, TextIO

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Asks Linux to kill this process when its parent ends, because an env in an endless loop would never notice."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    end_with_parent()
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the env prints must not be taken for an event
    work(json.load(sys.stdin), events)
    events.flush()
    os._exit(0)  # what is left of the env must not keep this process


def work(job: dict[str, Any], events: TextIO) -> None:
    def tell(**event: Any) -> None:
        print(json.dumps(event), file=events, flush=True)

    from batchenv._core import type_info
    from batchenv.check.run import CHECKS, part_of, run
    from batchenv.check.target import resolve
    from batchenv.check.trial import Trial
    from batchenv.compiler.libraries import ids_of
    from batchenv.registry import TABLE

    try:
        if "library" in job:
            ids = ids_of(Path(job["library"]), Path(job["source"]))
            if "target" not in job:
                over_model = type_info(TABLE[ids[0]].type_name)["reads"] is not None
                return tell(ids=ids, over_model=over_model)
        target = resolve(job["target"], job["num_envs"], job["vectorization_mode"], job["env_kwargs"])
    except (TypeError, ValueError) as error:
        return tell(refused=str(error))
    tell(ready=True)
    parts = job["parts"]
    if parts is None:
        try:
            modes, notes = target.modes()
        except Exception:  # the first check says what is wrong
            modes, notes = [(None, "NextStep")], []
        parts = [part_of(asked, mode, job["skip"]) for asked, mode in modes]
        tell(parts=parts, notes=notes, name=target.name)
    for part in parts:
        trial = Trial(target, part["asked"], part["mode"], job["max_steps"], job["seconds"])
        trial.lost = set(part["lost"])
        for result in run(trial, [check for check in CHECKS if check.name in part["checks"]]):
            tell(status=result.status, detail=result.detail)
    return None


if __name__ == "__main__":
    main()
