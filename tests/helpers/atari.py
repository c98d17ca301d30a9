"""Atari's games. Skips a test module that uses them where the emulators are not installed."""

import contextlib
import os
import subprocess

import pytest

from batchenv.envs.atari import files

ale_py = pytest.importorskip("ale_py", reason="the reference, with the ROMs: pip install 'batchenv[atari]'")
multi_agent_ale_py = pytest.importorskip("multi_agent_ale_py", reason="libale_c: pip install 'batchenv[atari]'")

# Games from their first frame on, that do what they are told.
PLAIN = {"noop_max": 0, "use_fire_reset": False, "repeat_action_probability": 0.0}
# Besides, the screen as the console draws it, after every frame.
RAW = {**PLAIN, "obs_type": "rgb", "img_height": None, "img_width": None, "stack_num": None, "frameskip": 1}
# The references do not count frames from where ours do, and do not have the others.
COUNTS = ("frame_number", "episode_frame_number", "life_lost", "players")


def frames(usual):
    """How many frames of each game are compared: BATCHENV_ATARI_FRAMES (20000 takes an hour or so), or the usual."""
    return int(os.environ.get("BATCHENV_ATARI_FRAMES", usual))


def programs(usual):
    """How many random programs of each kind are compared: BATCHENV_ATARI_PROGRAMS (1000 take two hours or so), or the
    usual."""
    return int(os.environ.get("BATCHENV_ATARI_PROGRAMS", usual))


def id_of(game):
    """The id of a game by its ROM's name."""
    return "".join(word.capitalize() for word in game.split("_")) + "-v5"


@contextlib.contextmanager
def own_emulator(wanted):
    """Lanes that are made in this context have our processor and picture chip, or those of the library."""
    before = os.environ.get("BATCHENV_ALE_FAST")
    os.environ["BATCHENV_ALE_FAST"] = "1" if wanted else "0"
    try:
        yield
    finally:
        del os.environ["BATCHENV_ALE_FAST"]
        if before is not None:
            os.environ["BATCHENV_ALE_FAST"] = before


def run_player(player, rom, fast, skip=1, most=600):
    """tests/c/play_ale.c, compiled, with a ROM. `fast`: "1" with our processor, "0" without."""
    command = [str(player), str(files.library_path()), str(rom), fast, str(skip), str(most)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


def played(*arguments):
    """What run_player tells of the frames."""
    done = run_player(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
