"""Runs Python in a process of its own."""

import os
import subprocess
import sys
import textwrap


def python(*arguments, cwd=None, timeout=300, **variables):
    """A finished Python that was given these arguments. It has these environment variables besides ours, and lacks
    those that are None."""
    command = [sys.executable, *map(str, arguments)]
    env = {name: str(value) for name, value in {**os.environ, **variables}.items() if value is not None}
    return subprocess.run(command, cwd=cwd, env=env, timeout=timeout, capture_output=True, text=True)


def succeeded(done):
    """What a process has printed. A failure of it is one of the test."""
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


def run_python(code, *arguments, timeout=300, **options):
    """What the code prints in a fresh Python."""
    return succeeded(python("-c", textwrap.dedent(code), *arguments, timeout=timeout, **options))


def command_line(*arguments, **options):
    """`python -m batchenv` with these arguments, finished."""
    return python("-m", "batchenv", *arguments, **options)


def first_on_path(*folders):
    """A PYTHONPATH of these folders, and then ours."""
    return os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])])


def hide(module, folder):
    """A PYTHONPATH on which an installed module cannot be imported; the folder is written to."""
    (folder / module).mkdir()
    (folder / module / "__init__.py").write_text("raise ImportError('not here')\n")
    return first_on_path(folder)
