"""ViZDoom's environments in workers: what SyncVectorEnv gives, from engines that are processes of their own."""

import os
import signal
import subprocess

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import batchenv
from helpers.lockstep import lockstep
from helpers.processes import python, succeeded
from helpers.project import ROOT

pytest.importorskip("vizdoom.gymnasium_wrapper")
LANES = 3


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """The engines write a file of settings where they are started."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("env_id", "kind", "mode", "keywords"),
    [
        ("VizdoomBasic-v1", "processes", AutoresetMode.SAME_STEP, {"frame_skip": 8}),
        ("VizdoomBasic-v1", "threads", AutoresetMode.NEXT_STEP, {"frame_skip": 8}),
        ("VizdoomDefendCenter-v1", "processes", AutoresetMode.NEXT_STEP, {"frame_skip": 4, "screen_format": "GRAY8"}),
        ("VizdoomHealthGathering-MultiBinary-v1", "processes", AutoresetMode.DISABLED, {"frame_skip": 12}),
        ("VizdoomDeathmatch-v1", "serial", AutoresetMode.NEXT_STEP, {"frame_skip": 4}),
    ],
)
def test_scenarios(env_id, kind, mode, keywords):
    keywords = {**keywords, "screen_resolution": "RES_160X120"}
    ours = batchenv.make_python(
        env_id, LANES, workers=kind, num_workers=2, autoreset_mode=mode, env_kwargs={**keywords}
    )
    theirs = SyncVectorEnv([lambda: gymnasium.make(env_id, **keywords)] * LANES, autoreset_mode=mode)
    assert isinstance(ours.single_observation_space, gymnasium.spaces.Dict)
    ends, last = lockstep(ours, theirs, 200, env_id)
    assert ends or "Deathmatch" in env_id
    assert np.unique(last[0]["screen"]).size > 20
    ours.close(), theirs.close()


def test_the_example(tmp_path):
    pytest.importorskip("cv2")
    said = succeeded(python(ROOT / "examples" / "vizdoom_env.py", "--lanes", 2, "--steps", 150, cwd=tmp_path))
    assert "2 lanes, observations (2, 4, 84, 84) uint8, Discrete(4)" in said and " episodes, mean return " in said


def duel(monkeypatch, **keywords):
    monkeypatch.syspath_prepend(ROOT / "examples")
    from vizdoom_duel import Duel

    return batchenv.make_parallel(Duel, 1, workers="serial", env_kwargs=keywords)


def engines():
    told = subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "pid=,comm="], capture_output=True, text=True)
    return [int(line.split()[0]) for line in told.stdout.splitlines() if line.split()[1] == "vizdoom"]


def test_a_duel(monkeypatch):
    """Two players see two pictures of one game; its end and the next game's start are as in any parallel env."""
    env = duel(monkeypatch, seconds=1.0)
    observations, _ = env.reset(seed=3)
    assert observations["host"].shape == (1, 120, 160, 3) and (observations["host"] != observations["guest"]).any()
    for step in range(1, 12):
        actions = {agent: np.array([[0, 1, 1]]) for agent in env.agents}
        _, _, terminations, truncations, infos = env.step(actions)
        for agent in env.agents:
            assert truncations[agent][0] == (step == 9) and not terminations[agent][0]
            assert infos[agent]["playing"][0] == (step != 9) and infos[agent]["active"][0]
    env.close()
    assert not engines()


def test_a_player_that_is_lost(monkeypatch):
    env = duel(monkeypatch)
    env.reset(seed=1)
    nothing = {agent: np.zeros((1, 3), int) for agent in env.agents}
    env.step(nothing)
    os.kill(max(engines()), signal.SIGKILL)
    with pytest.raises(batchenv.LaneError, match="lane 0: Lost: guest is lost"):
        env.step(nothing)
    *_, infos = env.step(nothing)  # the next game
    assert infos["host"]["active"].all() and len(engines()) == 2
    env.close()
