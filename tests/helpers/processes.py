"""Runs code in a process of its own."""

import os
import subprocess
import sys
import textwrap


def run_python(code, *arguments, cwd=None, timeout=120, **variables):
    """What the code prints in a fresh Python, which has these environment variables besides ours, and lacks those that
    are None. A failure of it is one of the test."""
    environment = {name: value for name, value in {**os.environ, **variables}.items() if value is not None}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        cwd=cwd,
        env=environment,
        timeout=timeout,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout
