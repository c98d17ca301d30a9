"""Players as rows for Stable-Baselines3: against SuperSuit, and in a training."""

import functools

import numpy as np
import pytest

import batchenv
from helpers.awkward import LANES as KINDS
from helpers.awkward import AwkwardPair
from helpers.awkward import same as exactly
from helpers.parallel_envs import Herd, supersuit_herd

LANES = 4


pytest.importorskip("stable_baselines3")
torch = pytest.importorskip("torch")

from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.vec_env import VecEnv, VecMonitor  # noqa: E402

torch.set_num_threads(1)  # more of them wait for each other where other tests run


def make(leave=True, **keywords):
    keywords = {"workers": "serial", "env_type": "sb3", **keywords}
    return batchenv.make_parallel(Herd, LANES, env_kwargs={"leave": leave}, **keywords)


def test_rows():
    """The same as env_type="gymnasium", in Stable-Baselines3's form."""
    mine = make()
    other = batchenv.make_parallel(Herd, LANES, workers="serial", env_type="gymnasium")
    assert isinstance(mine, VecEnv) and len(mine) == mine.num_envs == 3 * LANES
    assert mine.seed(7) == [7, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10, 10]
    np.testing.assert_array_equal(mine.reset(), other.reset(seed=7)[0])
    assert all(info["luck"] >= 0 and info["active"] for info in mine.reset_infos)
    ended = out = 0
    for _ in range(60):
        actions = other.action_space.sample()
        seen, won, dones, dicts = mine.step(actions)
        observations, rewards, terminations, truncations, infos = other.step(actions)
        np.testing.assert_array_equal(seen, observations)
        np.testing.assert_array_equal(won, rewards.astype(np.float32))
        assert won.dtype == np.float32
        np.testing.assert_array_equal(dones, terminations | truncations)
        for row, told in enumerate(dicts):
            assert told["TimeLimit.truncated"] is bool(truncations[row])
            assert ("terminal_observation" in told) == dones[row]
            source = infos["final_info"] if dones[row] else infos
            assert told["active"] is bool(infos["active"][row])
            assert told.get("count") == (source["count"][row] if source["_count"][row] else None)
            out += not told["active"]
            if dones[row]:
                np.testing.assert_array_equal(told["terminal_observation"], infos["final_obs"][row])
                assert mine.reset_infos[row]["luck"] == infos["luck"][row]
                ended += 1
    assert ended > 10 and out > 10
    other.close()
    mine.close()


def test_lanes_of_rows():
    env = make(render_mode="rgb_array")
    env.reset()
    assert env.get_attr("weight") == [1.0] * 12 and env.get_attr("weight", 5) == [1.0]
    env.set_attr("weight", 2.0, indices=[3, 4])
    assert env.get_attr("weight") == [1.0] * 3 + [2.0] * 3 + [1.0] * 6
    assert env.env_method("double", 3, indices=[4, 5]) == [6.0, 6.0]  # once, in one lane
    assert env.get_attr("weight", range(12)) == [1.0] * 3 + [6.0] * 3 + [1.0] * 6
    assert [picture.shape for picture in env.get_images()] == [(2, 2, 3)] * LANES
    assert env.env_is_wrapped(VecMonitor) == [False] * 12
    env.close()
    atari = batchenv.make_parallel("Pong-v5", 2, env_type="sb3")
    atari.reset()
    assert atari.get_attr("frameskip") == [4] * 4 and atari.num_envs == 4
    atari.close()


def test_supersuit():
    other = supersuit_herd(LANES, "stable_baselines3")
    mine = make(leave=False)
    other.venv.reset(seed=3)  # SuperSuit's VecEnv forgets the seed: from here on, the same random streams
    mine.seed(3)
    mine.reset()
    np.testing.assert_array_equal(mine.reset(), other.reset())
    rng, ended = np.random.default_rng(0), 0
    for _ in range(50):
        actions = rng.uniform(-1, 1, (12, 2)).astype(np.float32)
        results = [env.step(actions) for env in (mine, other)]
        for a, b in zip(results[0][:3], results[1][:3], strict=True):
            np.testing.assert_array_equal(a, b)
        for told, its, done in zip(results[0][3], results[1][3], results[0][2], strict=True):
            if done:
                np.testing.assert_array_equal(told["terminal_observation"], its["terminal_observation"])
                ended += 1
            else:
                assert {name: told[name] for name in its} == its
    assert ended > 10
    mine.close()


@pytest.mark.parametrize("workers", ["serial", "processes"])
def test_what_awkward_agents_say(workers):
    """Infos are each agent's own, types too; options and seeds are each lane's."""
    make = [functools.partial(AwkwardPair, lane) for lane in range(KINDS)]
    ours = batchenv.make_parallel(make, workers=workers, num_workers=2, env_type="sb3")
    envs = [one() for one in make]
    chosen = [{}, {"start": 1}, {"start": 1}, {"start": [2]}]
    for options in ([{}] * KINDS, [{"start": 0}] * KINDS, chosen):
        ours.seed(5)
        ours.set_options([own for own in options for _ in range(2)])
        seen = ours.reset()
        begun = [env.reset(5 + lane, own or None) for lane, (env, own) in enumerate(zip(envs, options, strict=True))]
        assert [info["options"] or None for info in ours.reset_infos] == [own or None for own in options for _ in "12"]
        for row, info in enumerate(ours.reset_infos):
            first, said = (part[envs[0].possible_agents[row % 2]] for part in begun[row // 2])
            np.testing.assert_array_equal(seen[row], first)
            exactly(info, said, ("options", "active", "playing"))
        for step in range(9):
            actions = np.arange(2 * KINDS) * step % 3
            seen, won, dones, dicts = ours.step(actions)
            for lane, env in enumerate(envs):
                told = env.step(dict(zip(env.agents, actions[2 * lane : 2 * lane + 2], strict=True)))
                first, now = told[0], None
                if not env.agents:
                    first, now = env.reset()
                for k, agent in enumerate(env.possible_agents):
                    row = 2 * lane + k
                    assert won[row] == told[1][agent] and dones[row] == told[2][agent]
                    np.testing.assert_array_equal(seen[row], first[agent])
                    said = told[4][agent] | {"TimeLimit.truncated": False}
                    if now is not None:
                        said["terminal_observation"] = told[0][agent]
                        exactly(ours.reset_infos[row], now[agent], ("options", "playing"))
                    exactly(dicts[row], said, ("active", "playing"))
    ours.close()


def test_rows_of_a_lane_share_its_options():
    env = make()
    for options, problem in (
        ([{"a": np.arange(2)}] * 4 + [{"a": 1}] + [{}] * 7, "for row 4 and .* for row 3, .* give rows 3..5 the same"),
        ([{}] * 4, "got 4 dicts, but must get one for all, or one for each of 12"),
    ):
        env.set_options(options)
        with pytest.raises(ValueError, match=problem):
            env.reset()
    env.set_options({"a": np.arange(2)})
    env.reset()
    env.close()


class Follow(Herd):
    """Each agent is told in which direction to go."""

    def step(self, actions):
        told = self._told
        observations, rewards, *ends, infos = super().step(actions)
        rewards = {agent: float((action * (told[agent][:2] - 0.5)).sum()) for agent, action in actions.items()}
        return observations, rewards, *ends, infos

    def _look(self, agents):
        self._told = super()._look(agents)
        return self._told


def test_a_training():
    """One policy learns to play all agents."""
    env = VecMonitor(batchenv.make_parallel(Follow, 8, workers="serial", env_type="sb3", seed=0))
    model = PPO("MlpPolicy", env, n_steps=32, batch_size=128, learning_rate=3e-3, gamma=0.5, seed=0, device="cpu")
    returns = []
    for iterations in (1, 7):
        model.learn(32 * env.num_envs * iterations)
        returns.append(np.mean([episode["r"] / episode["l"] for episode in model.ep_info_buffer]))
    assert returns[0] < 0.1 < returns[1], returns
    env.close()
