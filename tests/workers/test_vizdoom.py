"""ViZDoom's environments in workers: what SyncVectorEnv gives, from engines that are processes of their own."""

import os
import signal

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import batchenv
from helpers.descent import descendants
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
    options = {"workers": kind, "num_workers": 2, "autoreset_mode": mode}
    ours = batchenv.make_python(env_id, LANES, env_kwargs={**keywords}, **options)
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


def match(monkeypatch, workers="serial", **keywords):
    monkeypatch.syspath_prepend(ROOT / "examples")
    from vizdoom_match import Match

    return batchenv.make_parallel(Match, 1, workers=workers, num_workers=1, env_kwargs=keywords)


def engines():
    return list(descendants(named="vizdoom"))


def nothing(env):
    return {agent: np.zeros((1, *env.action_space(agent).shape), int) for agent in env.agents}


def test_a_duel(monkeypatch):
    """Two players see two pictures of one game; its end and the next game's start are as in any parallel env."""
    env = match(monkeypatch, seconds=1.0)
    observations, _ = env.reset(seed=3)
    one, other = observations.values()
    assert one.shape == (1, 120, 160, 3) and (one != other).any()
    for step in range(1, 12):
        _, _, terminations, truncations, infos = env.step({agent: np.array([[0, 1, 1]]) for agent in env.agents})
        for agent in env.agents:
            assert truncations[agent][0] == (step == 9) and not terminations[agent][0]
            assert infos[agent]["playing"][0] == (step != 9) and infos[agent]["active"][0]
    env.close()
    assert not engines()


@pytest.mark.parametrize("workers", ["serial", "processes"])
def test_a_deathmatch_of_eight(monkeypatch, workers):
    """Each player sees something else. If one of them is lost, in the middle of a game, there is another game."""
    env = match(monkeypatch, workers, players=8)
    observations, _ = env.reset(seed=3)
    assert len(engines()) == len(env.agents) == 8
    for _ in range(5):
        observations, *_, infos = env.step(nothing(env))
        assert all(infos[agent]["playing"][0] for agent in env.agents)
    assert len({observations[agent].tobytes() for agent in env.agents}) == 8
    os.kill(engines()[3], signal.SIGKILL)
    with pytest.raises(batchenv.LaneError, match=r"lane 0: (Lost|RuntimeError).*: player_\d is lost"):
        env.step(nothing(env))
    observations, *_, infos = env.step(nothing(env))  # the next game
    assert all(infos[agent]["active"].all() for agent in env.agents) and len(engines()) == 8
    env.close()
    assert not engines()


def test_the_example_of_a_match(tmp_path):
    said = succeeded(python(ROOT / "examples" / "vizdoom_match.py", "--lanes", 2, "--steps", 5, cwd=tmp_path))
    assert "observations (2, 120, 160, 3), frags {'player_0': " in said
