"""What a user's program may write, and the types that it has: `test_typing.py` has it checked, and nobody runs it."""

from typing import Any, assert_type

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

import batchenv
from batchenv.compiler import Library
from batchenv.env.rollout import Rollout
from batchenv.integrations.dm import DmBatchEnv
from batchenv.integrations.gym import GymBatchEnv, PoolBatchEnv
from batchenv.integrations.pettingzoo import ParallelBatchEnv
from batchenv.integrations.player_rows import PlayerVectorEnv
from batchenv.integrations.rl_games import RlGamesBatchEnv
from batchenv.integrations.sb3 import BatchVecEnv
from batchenv.integrations.sb3_players import PlayerVecEnv
from batchenv.integrations.tianshou import TianshouBatchEnv
from batchenv.integrations.torch import TorchBatchEnv
from batchenv.integrations.torchrl import TorchRLBatchEnv
from batchenv.xla import Functions

Observations = NDArray[Any] | Any
Rewards = NDArray[np.floating[Any]]
Flags = NDArray[np.bool_]
Step = tuple[Observations, Rewards, Flags, Flags, dict[str, Any]]

env = batchenv.make("CartPole-v1", 4, seed=1)
assert_type(env, batchenv.BatchEnv)
plain: VectorEnv[Any, Any, Any] = env

# -- calls

assert_type(env.reset(seed=0), tuple[Observations, dict[str, Any]])
assert_type(env.reset([0, 1], options={"low": 0.0}), tuple[Observations, dict[str, Any]])
assert_type(env.step(np.zeros(4, np.int64)), Step)
assert_type(env.step([0, 1, 1, 0], out=(None, np.empty(4), None, None)), Step)
observations, rewards, terminations, truncations, infos = env.step(env.action_space.sample())
assert_type(rewards, Rewards)
assert_type(terminations | truncations, Flags)
image: NDArray[np.uint8] = observations["image"]  # of a Dict
assert_type(env.rollout(10, policy="random"), Rollout)
assert_type(env.rollout(np.zeros((10, 4), np.int64)).rewards, Rewards)
assert_type(env.send([0, 1], [2, 3]), None)
assert_type(env.recv(timeout=1.0), Step)
assert_type(env.snapshot([0, 1]), batchenv.Snapshot)
assert_type(env.snapshot(terminations), batchenv.Snapshot)
assert_type(env.restore(env.snapshot(0), rows=[0, 0, 0, 0]), Observations)
assert_type(env.state, dict[str, NDArray[Any]])
assert_type(env.get_params(), dict[str, Any])
assert_type(env.set_params(lanes=slice(2), gravity=9.0), None)
assert_type(env.get_attr("x"), tuple[Any, ...])
assert_type(env.np_random, tuple[np.random.Generator, ...])
assert_type(env.num_envs, int)
assert_type(env.closed, bool)
assert_type(env.xla(), Functions)


async def receive() -> None:
    """The calls for asyncio."""
    assert_type(await env.arecv(), Step)
    async for result in env:
        assert_type(result, Step)


# -- what makes envs

assert_type(batchenv.make("CartPole-v1", 4, env_type="gymnasium"), batchenv.BatchEnv)
assert_type(batchenv.make("CartPole-v1", 4, env_type="gym"), GymBatchEnv)
assert_type(batchenv.make("CartPole-v1", 4, env_type="envpool_gym"), PoolBatchEnv)
assert_type(batchenv.make("CartPole-v1", 4, env_type="dm"), DmBatchEnv)
assert_type(batchenv.make("CartPole-v1", 4, env_type="torch"), TorchBatchEnv)
assert_type(batchenv.make("CartPole-v1", 4, env_type="torchrl"), TorchRLBatchEnv)
assert_type(batchenv.make("CartPole-v1", 4, env_type="sb3"), BatchVecEnv)
assert_type(batchenv.make("CartPole-v1", 4, env_type="tianshou"), TianshouBatchEnv)
assert_type(batchenv.make("CartPole-v1", 4, env_type="rl_games"), RlGamesBatchEnv)
assert_type(batchenv.make("Pong-v5", "gymnasium", num_envs=8), batchenv.BatchEnv)
assert_type(batchenv.make("Pong-v5", "dm", num_envs=8), DmBatchEnv)
assert_type(batchenv.make_dm("Pong-v5", 8), DmBatchEnv)
assert_type(batchenv.make_mujoco("robot.xml", 64, frame_skip=5), batchenv.BatchEnv)
assert_type(batchenv.make_mujoco("robot.xml", 64, env_type="sb3"), BatchVecEnv)


def make_one() -> object:
    """An env in Python."""
    return object()


assert_type(batchenv.make_python(make_one, 8, workers="serial"), batchenv.BatchEnv)
assert_type(batchenv.make_python([make_one, make_one], env_type="torch"), TorchBatchEnv)
assert_type(batchenv.make_parallel("Pong-v5", 8, players=2), ParallelBatchEnv)
assert_type(batchenv.make_parallel("Pong-v5", 8, env_type="gymnasium"), PlayerVectorEnv)
assert_type(batchenv.make_parallel("Pong-v5", 8, env_type="sb3"), PlayerVecEnv)
assert_type(batchenv.compile("my_env.c"), Library)
assert_type(batchenv.compile("my_env.c").ids[0], str)
assert_type(batchenv.load("my_env.so"), Library)
assert_type(batchenv.list_envs(), list[str])

# -- what is wrong

batchenv.make(5)  # pyright: ignore[reportArgumentType]
batchenv.mkae("CartPole-v1")  # pyright: ignore[reportAttributeAccessIssue]
env.stpe([0, 0, 0, 0])  # pyright: ignore[reportAttributeAccessIssue]
env.snapshot("all")  # pyright: ignore[reportArgumentType]
env.rollout()  # pyright: ignore[reportCallIssue]
