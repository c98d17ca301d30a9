"""The dm_env API: `reset` and `step` return one batched `dm_env.TimeStep`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from batchenv.arguments.seeds import Seeds
from batchenv.backend.protocol import InfoDict, Options
from batchenv.backend.results import converted
from batchenv.env.batch_env import BatchEnv
from batchenv.integrations.wrapper import Wrapper

try:
    import dm_env
    from dm_env import specs
except ImportError as error:
    raise ImportError("env_type='dm' needs the package dm_env: pip install 'batchenv[dm]'") from error

ENV_TYPES = {"dm": "DmBatchEnv"}


class State(NamedTuple):
    """`TimeStep.observation`, with the two fields of EnvPool's that code reads; the specs have the same form.

    env_id: which lane a row is, int32 (num_envs,): 0, 1, 2, ...
    obs: observations (num_envs, ...).
    """

    env_id: Any
    obs: Any


def _spec(space: Any, name: str) -> Any:
    if isinstance(space, spaces.Tuple):
        return tuple(_spec(part, f"{name}[{i}]") for i, part in enumerate(space))
    if isinstance(space, spaces.Dict):
        return {key: _spec(part, key) for key, part in space.items()}
    if isinstance(space, spaces.Text):
        return specs.StringArray((), name=name)
    if isinstance(space, spaces.Discrete) and space.start == 0:
        return specs.DiscreteArray(int(space.n), space.dtype, name)  # pyright: ignore[reportArgumentType] it takes all
    if isinstance(space, spaces.Discrete):
        return specs.BoundedArray((), space.dtype, space.start, space.start + space.n - 1, name)
    if isinstance(space, spaces.MultiBinary):
        return specs.BoundedArray(space.shape, space.dtype, 0, 1, name)
    if isinstance(space, spaces.MultiDiscrete):
        return specs.BoundedArray(space.shape, space.dtype, space.start, space.start + space.nvec - 1, name)
    if np.all(np.isneginf(space.low) & np.isposinf(space.high)):
        return specs.Array(space.shape, space.dtype, name)
    return specs.BoundedArray(space.shape, space.dtype, space.low, space.high, name)


def observation_spec(space: spaces.Space, num_envs: int) -> State:
    """The specs of one lane's observation, in the form of `TimeStep.observation`."""
    return State(specs.BoundedArray((), np.int32, 0, num_envs - 1, "env_id"), _spec(space, "obs"))


def action_spec(space: spaces.Space) -> specs.Array:
    """The spec of one lane's action."""
    return _spec(space, "action")


class DmBatchEnv(Wrapper, dm_env.Environment):
    """A BatchEnv as a dm_env environment whose time steps hold arrays over lanes; `.env` is the BatchEnv.

    Autoreset is "NextStep", dm_env's own rule: the step of a lane after its LAST ignores the action and is the FIRST of
    the next episode, with reward 0 and discount 1. Lanes are to be stepped and reset through this object only.

    Raises:
        ValueError: the BatchEnv has another autoreset mode.
    """

    def __init__(self, env: BatchEnv):
        if env.autoreset_mode is not AutoresetMode.NEXT_STEP:
            raise ValueError(
                f"autoreset_mode={env.autoreset_mode.value!r} must be 'NextStep' with env_type='dm': "
                "in dm_env the step after LAST starts the next episode"
            )
        super().__init__(env)
        self._env_id = np.arange(env.num_envs, dtype=np.int32)
        self._env_id.flags.writeable = False
        self._done: Any = None  # (num_envs,) bool: of the last step; None before the first reset

    def reset(self, *, seed: Seeds = None, options: Options = None) -> dm_env.TimeStep:
        """Starts new episodes in all lanes.

        Args:
            seed, options: as `BatchEnv.reset` takes them, without "reset_mask".

        Returns:
            as `step`; every step_type is FIRST, every reward 0, every discount 1.

        Raises:
            TypeError, ValueError: a wrong seed or option.
        """
        if isinstance(options, dict) and "reset_mask" in options:
            raise ValueError("options['reset_mask'] cannot be used with env_type='dm': reset() is for all lanes")
        observations, _ = self.env.reset(seed=seed, options=options)
        lanes = self.num_envs
        self._done = np.zeros(lanes, bool)
        first = np.full(lanes, dm_env.StepType.FIRST, np.int32)
        return dm_env.TimeStep(first, np.zeros(lanes), np.ones(lanes), State(self._env_id, observations))

    def step(self, action: Any) -> dm_env.TimeStep:
        """Takes one action per lane; before any reset it ignores them and resets.

        Args:
            action: shape (num_envs, ...), as `BatchEnv.step` takes it.

        Returns:
            a TimeStep: step_type (num_envs,) int32, reward and discount (num_envs,) float64, observation a `State`. The
            discount is 0 where the episode terminated and 1 elsewhere, so also where it was truncated.

        Raises:
            As `BatchEnv.step`.
        """
        if self._done is None:
            return self.reset()
        return self._time_step(self.env.step, action)

    def async_reset(self, *, seed: Seeds = None, options: Options = None) -> None:
        """As `BatchEnv.async_reset`; `recv` gives the FIRST time steps."""
        self.env.async_reset(seed=seed, options=options)
        self._done = np.ones(self.num_envs, bool)

    def send(self, action: Any, env_id: Any = None) -> None:
        """As `BatchEnv.send`."""
        self.env.send(action, env_id)

    def recv(self, timeout: float | None = None) -> dm_env.TimeStep:
        """The lanes that are finished first, after `send` or `async_reset`; `observation.env_id` says which.

        Returns:
            as `step`, with batch_size rows.

        Raises:
            As `BatchEnv.recv`.
        """
        return self._time_step(self.env.recv, timeout)

    def _time_step(self, call: Any, argument: Any) -> dm_env.TimeStep:
        """What `call` returns, as a TimeStep."""
        return converted(self._convert, call, argument)

    def _convert(
        self, observations: Any, rewards: Any, terminations: Any, truncations: Any, infos: InfoDict
    ) -> dm_env.TimeStep:
        env_id = infos["env_id"].astype(np.int32) if "env_id" in infos else self._env_id
        done = terminations | truncations
        # FIRST, MID, LAST are 0, 1, 2, and a lane that has just been reset is not done.
        step_type = np.add(done, dm_env.StepType.MID, dtype=np.int32)
        step_type -= self._done[env_id]
        self._done[env_id] = done
        return dm_env.TimeStep(step_type, rewards, 1.0 - terminations, State(env_id, observations))

    def render(self, lanes: Any = None) -> tuple[Any, ...] | None:
        """Pictures of lanes, as `BatchEnv.render`."""
        return self.env.render(lanes)

    # Those of dm_env have no annotation, so that pyright takes them to return None.
    def observation_spec(self) -> State:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The specs of one lane's observation, in the form of `TimeStep.observation`."""
        return observation_spec(self.env.single_observation_space, self.num_envs)

    def action_spec(self) -> specs.Array:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The spec of one lane's action."""
        return action_spec(self.env.single_action_space)
