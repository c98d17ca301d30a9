"""Runs code in a process of its own."""

import os
import subprocess
import sys
import textwrap


def run_python(code, *arguments, cwd=None, timeout=120, **variables):
    """What the code prints in a fresh Python, which has these environment variables besides ours. A failure of it is
    one of the test."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        cwd=cwd,
        env={**os.environ, **variables},
        timeout=timeout,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout
