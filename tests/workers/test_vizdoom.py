"""ViZDoom's environments in workers: what SyncVectorEnv gives, from engines that are processes of their own."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import batchenv
from helpers.parity import assert_same
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
    assert_same(ours.reset(seed=5), theirs.reset(seed=5), "reset")
    theirs.action_space.seed(2)
    ends, done = 0, np.zeros(LANES, bool)
    for step in range(200):
        if mode is AutoresetMode.DISABLED and done.any():
            one, other = (env.reset(options={"reset_mask": done.copy()}) for env in (ours, theirs))
            assert_same(one, other, f"reset before step {step}")
        actions = theirs.action_space.sample()
        one, other = ours.step(actions), theirs.step(actions)
        assert_same(one, other, f"step {step}")
        done = one[2] | one[3]
        ends += int(done.sum())
    assert ends or "Deathmatch" in env_id
    assert np.unique(one[0]["screen"]).size > 20
    ours.close(), theirs.close()


def test_the_example(tmp_path):
    pytest.importorskip("cv2")
    said = succeeded(python(ROOT / "examples" / "vizdoom_env.py", "--lanes", 2, "--steps", 150, cwd=tmp_path))
    assert "2 lanes, observations (2, 4, 84, 84) uint8, Discrete(4)" in said and " episodes, mean return " in said
