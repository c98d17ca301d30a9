"""The API of gym before 0.26, and that of EnvPool before 1.0: `reset` returns observations only, `step` returns four
values.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from batchenv.arguments.seeds import Seeds, check_seed, entropy
from batchenv.backend.protocol import Flags, InfoDict, Observations, Options, Rewards
from batchenv.backend.results import converted
from batchenv.backend.transforms import flag
from batchenv.env.batch_env import BatchEnv
from batchenv.integrations.wrapper import Forwarding

ENV_TYPES = {"gym": "GymBatchEnv", "envpool_gym": "PoolBatchEnv"}


class GymBatchEnv(Forwarding):
    """A BatchEnv as old gym code expects it; `.env` is the BatchEnv, and attributes not found here are looked up there.

    Spaces are Gymnasium's, and batched: `single_observation_space` and `single_action_space` are a lane's.

    Autoreset is "SameStep" unless said otherwise, as gym's vector environments always had it: where `dones` is True the
    observation already is the next episode's first, and the last one of the old episode is in the info. "NextStep" is
    EnvPool's timing, and faster: the step after `dones` ignores its action and returns the first observation, with
    reward 0.
    "Disabled": finished lanes are for the caller to reset. (EnvPool's own "gym" has become another name for
    "gymnasium"; this one is the API that gym had. `PoolBatchEnv` is what it was before.)
    """

    DEFAULTS = {"autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(self, env: BatchEnv):
        super().__init__(env)
        self._next_seed: Any = None

    def seed(self, seed: Seeds = None) -> None:
        """Seeds the next `reset`, as its argument would; None: from the operating system.

        Raises:
            TypeError, ValueError: a wrong seed.
        """
        self._next_seed = entropy() if seed is None else check_seed(seed, self.env.num_envs)

    def reset(
        self, env_id: Any = None, *, seed: Seeds = None, return_info: bool = False, options: Options = None
    ) -> Any:
        """Starts new episodes.

        Args:
            env_id, seed, options: as `BatchEnv.reset` takes them. `seed` None: that of a call of `seed()` since the
                last reset.
            return_info: True: return (observations, infos), as gym 0.22 to 0.25 did.

        Returns:
            observations (num_envs, ...); with env_id, the rows of these lanes.
        """
        seed = self._next_seed if seed is None else seed
        observations, infos = self.env.reset(env_id, seed=seed, options=options)
        self._next_seed = None
        return (observations, infos) if return_info else observations

    def step(self, actions: Any, env_id: Any = None) -> tuple[Observations, Rewards, Flags, InfoDict]:
        """Takes one action per lane.

        Args:
            actions, env_id: as `BatchEnv.step` takes them.

        Returns:
            observations (num_envs, ...), rewards (num_envs,) float64, dones (num_envs,) bool: terminated or truncated,
            and the info, a dict of arrays (num_envs,) bool: "terminated", and "TimeLimit.truncated": ended by the time
            limit alone. With autoreset "SameStep", steps that end an episode add "final_obs" and "final_info" as
            Gymnasium has them, and "final_observation", gym's name for the former.

        Raises:
            As `BatchEnv.step`.
        """
        return self._old(self.env.step, actions, env_id)

    def recv(self, timeout: float | None = None):
        """The lanes that are finished first, after `send` or `async_reset`; `infos["env_id"]` says which.

        Returns:
            as `step`, with batch_size rows.

        Raises:
            As `BatchEnv.recv`.
        """
        return self._old(self.env.recv, timeout)

    def _old(self, call: Any, *arguments: Any):
        """What `call` returns, as four things."""
        return converted(self._four, call, *arguments)

    def _four(self, observations: Any, rewards: Any, terminations: Any, truncations: Any, infos: dict[str, Any]):
        infos["terminated"] = terminations
        infos["TimeLimit.truncated"] = truncations > terminations
        if "final_obs" in infos:
            infos["final_observation"], infos["_final_observation"] = infos["final_obs"], infos["_final_obs"]
        return observations, rewards, terminations | truncations, infos


class PoolBatchEnv(GymBatchEnv):
    """A BatchEnv as code for `env_type="gym"` of EnvPool before 1.0 expects it, such as CleanRL's scripts.

    As a GymBatchEnv, except for these:

    - `observation_space` and `action_space` are one lane's. If the process has imported gym, they are gym's, since its
      code asks whether they are, and Gymnasium's otherwise.
    - Autoreset is "NextStep" unless said otherwise, and rewards are float32.
    - Infos have "reward": the rewards before `reward_clip`. With `episodic_life`, "terminated" says where a game is
      over, and not where a life was lost.
    - `num_envs` may be set, to what it is.

    Args:
        env: the BatchEnv.
        reward_clip: True: rewards are clipped to -1..1.

    Raises:
        TypeError: reward_clip is no bool.
    """

    DEFAULTS = {"reward_dtype": "float32"}
    KEYWORDS = ("reward_clip",)

    def __init__(self, env: BatchEnv, reward_clip: bool = False):
        super().__init__(env)
        self._clips = flag("reward_clip", reward_clip)
        self._lives_end_episodes = bool(env.config.get("episodic_life", False))
        self._spaces: dict[str, Any] = {}  # kept, since their random numbers go on

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "num_envs" and value != self.env.num_envs:
            raise ValueError(f"num_envs={value!r} must be {self.env.num_envs}: pass another number to batchenv.make")
        super().__setattr__(name, value)

    @property
    def observation_space(self) -> Any:
        """One lane's."""
        return self._of_one("single_observation_space")

    @property
    def action_space(self) -> Any:
        """One lane's."""
        return self._of_one("single_action_space")

    def _of_one(self, name: str) -> Any:
        space, gym = getattr(self.env, name), sys.modules.get("gym")
        if gym is None:
            return space
        if name not in self._spaces or self._spaces[name][0] is not space:  # `set_attr` may widen it
            self._spaces[name] = space, _as_gyms(space, gym.spaces)
        return self._spaces[name][1]

    @property
    def config(self) -> dict[str, Any]:
        """As `BatchEnv.config`, with `reward_clip`."""
        return {**self.env.config, "reward_clip": self._clips}

    def _four(self, observations: Any, rewards: Any, terminations: Any, truncations: Any, infos: dict[str, Any]):
        result = super()._four(observations, rewards, terminations, truncations, infos)
        infos["reward"] = rewards.copy()
        last = infos.get("final_info", infos)  # with "SameStep", the others are of the next episode
        if self._lives_end_episodes and "life_lost" in last:
            infos["terminated"] = terminations & ((last["lives"] == 0) | ~last["life_lost"])
        return (result[0], np.clip(rewards, -1, 1), *result[2:]) if self._clips else result


def _as_gyms(space: spaces.Space, theirs: Any) -> Any:
    """The space, made of the classes in `theirs`, which is gym.spaces."""
    if isinstance(space, spaces.Discrete):
        start = {"start": int(space.start)} if space.start else {}  # gym had none until 0.22
        return theirs.Discrete(int(space.n), **start)
    if isinstance(space, spaces.Box):
        return theirs.Box(space.low, space.high, dtype=space.dtype)
    if isinstance(space, spaces.MultiDiscrete):
        return theirs.MultiDiscrete(space.nvec)
    if isinstance(space, spaces.MultiBinary):
        return theirs.MultiBinary(space.n)
    if isinstance(space, spaces.Tuple):
        return theirs.Tuple([_as_gyms(part, theirs) for part in space.spaces])
    if isinstance(space, spaces.Dict):
        return theirs.Dict({name: _as_gyms(part, theirs) for name, part in space.spaces.items()})
    if isinstance(space, spaces.Text) and hasattr(theirs, "Text"):  # gym had none until 0.26
        return theirs.Text(space.max_length, min_length=space.min_length, charset=space.character_set)
    return space
