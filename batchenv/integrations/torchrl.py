"""TorchRL: a BatchEnv as a batched EnvBase."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from batchenv.backend.protocol import LaneError, Options
from batchenv.env.batch_env import BatchEnv

try:
    import torch
    from tensordict import TensorDict, TensorDictBase
    from torchrl.data import Binary, Bounded, Categorical, Composite, MultiCategorical, TensorSpec, Unbounded
    from torchrl.envs import EnvBase
except ImportError as error:
    raise ImportError(
        "env_type='torchrl' needs the packages torchrl and tensordict: pip install 'batchenv[torchrl]'"
    ) from error

from batchenv.arguments.seeds import Seeds, read_seed
from batchenv.integrations.torch import TorchBatchEnv
from batchenv.integrations.wrapper import check_env

ENV_TYPES = {"torchrl": "TorchRLBatchEnv"}
_DONE = ("done", "terminated", "truncated")


def spec_of(space: spaces.Space, lanes: int, device: torch.device | None) -> TensorSpec:
    """TorchRL's spec of what `lanes` lanes have, of the space of one. Discrete values are numbers, not one-hot.

    Raises:
        ValueError: TorchRL has no such spec.
    """
    if isinstance(space, spaces.Dict):
        parts = {name: spec_of(part, lanes, device) for name, part in space.items()}
        return Composite(parts, shape=(lanes,), device=device)
    if isinstance(space, spaces.Discrete) and space.start == 0:
        spec: TensorSpec = Categorical(int(space.n), dtype=_dtype(space), device=device)
    elif isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1 and not space.start.any():
        spec = MultiCategorical(torch.from_numpy(space.nvec), dtype=_dtype(space), device=device)
    elif isinstance(space, spaces.MultiBinary) and len(space.shape) == 1:
        spec = Binary(space.shape[0], dtype=_dtype(space), device=device)
    elif isinstance(space, spaces.Box):
        if np.isinf(space.low).all() and np.isinf(space.high).all():
            spec = Unbounded(shape=torch.Size(space.shape), dtype=_dtype(space), device=device)
        else:
            bounds = torch.from_numpy(space.low.copy()), torch.from_numpy(space.high.copy())
            spec = Bounded(*bounds, shape=torch.Size(space.shape), dtype=_dtype(space), device=device)
    else:
        raise ValueError(
            f"TorchRL has no spec for the space {space}: env_type='torchrl' takes Box, Discrete from 0 on, "
            "MultiDiscrete and MultiBinary of one dimension, and Dict of these; env_type='torch' takes all"
        )
    return spec.expand(lanes, *spec.shape)


def _dtype(space: spaces.Space) -> torch.dtype:
    return torch.from_numpy(np.empty(0, space.dtype)).dtype


class ActionSpec(Composite):
    """The spec of an env's actions; with it, random actions take a fourth of the time.

    Composite looks what each value may be, which takes longer than to step a thousand lanes.
    """

    def rand(self, shape: Any = None) -> TensorDictBase:
        """One random action for each lane, or `shape` of these."""
        if shape or any(isinstance(spec, Composite) for spec in self.values()):
            return super().rand(shape)
        drawn = {name: spec.rand() for name, spec in self.items() if spec is not None}
        return TensorDict._new_unsafe(drawn, batch_size=self.shape, device=self.device)


class Present:
    """What is known of the lanes; apart from the EnvBase, where setting an attribute takes long.

    observations: of their present states. begun: lanes of which these are the first ones of an episode, while nobody
    has been told so; or None.
    """

    __slots__ = ("begun", "observations")

    def __init__(self) -> None:
        self.observations: Any = None
        self.begun: torch.Tensor | None = None


class TorchRLBatchEnv(EnvBase):
    """A BatchEnv as one EnvBase of batch size (num_envs,); `.env` is the BatchEnv.

    TensorDicts hold tensors over BatchEnv's arrays, or on a GPU what was copied there at once for all lanes. "next" has
    an episode's last observation, and `step_and_maybe_reset` the next episode's first one, which has begun in the same
    step: the BatchEnv's mode is "SameStep". An observation that is no Dict is called "observation", and an action that
    is no Dict "action"; parts of Dicts have their own names, as with TorchRL's GymEnv. Discrete actions are numbers, as
    with `GymWrapper(..., categorical_action_encoding=True)`.

    Args:
        env: the BatchEnv.
        device: "cpu", "cuda", or one GPU such as "cuda:0". None: tensors are the CPU's, and TensorDicts and specs name
            no device, as those of TorchRL's own environments; collectors then need no copies of them.

    Raises:
        ValueError: another autoreset mode; a batch_size; `copy=False`, as collectors keep what they get; a space that
            TorchRL has no spec for; torch sees no such device.
    """

    DEFAULTS = {**TorchBatchEnv.DEFAULTS, "autoreset_mode": AutoresetMode.SAME_STEP}
    KEYWORDS = TorchBatchEnv.KEYWORDS

    def __init__(self, env: BatchEnv, device: Any = None):
        check_env(
            env,
            same_step="with env_type='torchrl': TorchRL asks for the reset of a lane in the step that ends its episode",
            together="with env_type='torchrl', which steps all lanes together",
            copy="with env_type='torchrl': collectors keep what steps return",
        )
        lanes = TorchBatchEnv(env, "cpu" if device is None else device)
        lanes._keep_finals_only()
        device = None if device is None else lanes.device
        super().__init__(device=device, batch_size=torch.Size([env.num_envs]))
        self.env, self._lanes = env, lanes
        count = env.num_envs
        observation = spec_of(env.single_observation_space, count, device)
        self._named = isinstance(observation, Composite)
        if not isinstance(observation, Composite):
            observation = Composite(observation=observation, shape=(count,), device=device)
        action = spec_of(env.single_action_space, count, device)
        if not isinstance(action, Composite):
            action = ActionSpec(action=action, shape=(count,), device=device)
        _check_keys("observations", observation if self._named else (), {"reward", "next", *_DONE, *action.keys()})
        _check_keys("actions", action, {"reward", "next", *_DONE, *observation.keys()})
        self.observation_spec = observation
        self.action_spec = action
        dtype = torch.float32 if np.dtype(env.config.get("reward_dtype", "float64")) == np.float32 else torch.float64
        self.reward_spec = Unbounded(shape=torch.Size((count, 1)), dtype=dtype, device=device)
        flag = Categorical(2, shape=torch.Size((count, 1)), dtype=torch.bool, device=device)
        self.done_spec = Composite({name: flag.clone() for name in _DONE}, shape=(count,), device=device)
        self._seed_of_reset: int | None = None
        self._present = Present()

    @property
    def num_envs(self) -> int:
        """Number of lanes."""
        return self.env.num_envs

    def __len__(self) -> int:
        return len(self.env)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.env!r})"

    def render(self, lanes: Any = None) -> tuple[Any, ...] | None:
        """Pictures of lanes, as `BatchEnv.render`."""
        return self.env.render(lanes)

    def close(self, *, raise_if_closed: bool = True) -> None:
        """Releases the lanes and the window."""
        super().close(raise_if_closed=raise_if_closed)
        self.env.close()

    # ---- what EnvBase asks for ---------------------------------------------------------------------------------------

    def set_seed(self, seed: int | None = None, static_seed: bool = False) -> int | None:
        """Seeds the next reset of all lanes: lane i gets seed + i. Arguments and result as TorchRL has them.

        Raises:
            TypeError, ValueError: a wrong seed.
        """
        return super().set_seed(None if seed is None else read_seed(seed), static_seed)

    def _set_seed(self, seed: int | None) -> None:
        self._seed_of_reset = seed

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        """What `reset` does, of which the keywords are those of `BatchEnv.reset`. "_reset" in the TensorDict is the
        mask, so `options` has none."""
        self._reset_masked(None if tensordict is None else tensordict.get("_reset", None), **kwargs)
        return self._tensordict(self._by_name(self._present.observations), device=self.device, **self._not_done())

    def _reset_masked(self, mask: torch.Tensor | None, *, seed: Seeds = None, options: Options = None) -> None:
        """Resets the lanes of a mask (None: all) that have not begun an episode already."""
        if options and "reset_mask" in options:
            raise ValueError("options['reset_mask'] says what \"_reset\" of the TensorDict says: leave it out")
        if mask is None or self._present.observations is None:
            seed = self._seed_of_reset if seed is None else seed
            everything = ~self._not_done()["done"].squeeze(-1)
            self._reset_lanes(everything, self._lanes.reset, seed=seed, options=options)
            self._seed_of_reset = self._present.begun = None
        else:
            mask = mask.reshape(self.num_envs)
            # A lane that has just ended has begun its next episode already.
            waiting = mask if self._present.begun is None else mask & ~self._present.begun
            if waiting.any():
                self._reset_lanes(waiting, self._lanes._reset_lanes, seed, waiting, options or None)
            if self._present.begun is not None:
                self._present.begun = self._present.begun & ~mask

    def _reset_lanes(self, asked: torch.Tensor, reset: Callable[..., Any], *args: Any, **keywords: Any) -> None:
        """Resets these lanes, by a function that returns observations and infos as tensors."""
        try:
            self._present.observations, _ = reset(*args, **keywords)
        except LaneError as error:
            self._present.observations = error.result[0]
            began, before = _but(asked, error.env_id), self._present.begun
            self._present.begun = began if before is None else before | began
            raise

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        return self._stepped(tensordict)[0]

    def step_and_maybe_reset(self, tensordict: TensorDictBase) -> tuple[TensorDictBase, TensorDictBase]:
        """A step, after which lanes whose episodes have ended go on with their next ones; see `EnvBase`.

        It is what `EnvBase` does, without its masks, for the lanes have been reset in the step.
        """
        special = self._post_step_mdp_hooks is not None or tensordict.get("_step", None) is not None
        if special or self.__dict__.get("_compiled_step_and_maybe_reset") is not None:
            return super().step_and_maybe_reset(tensordict)
        self._assert_tensordict_shape(tensordict)
        if tensordict.device != self._lanes.device and not self._is_here(tensordict):
            tensordict = tensordict.to(self._lanes.device)
        preset = tensordict.get("next", None)
        result, ended = self._stepped(tensordict)
        if preset is not None:  # what a policy has put there, such as the state of its memory
            result.update(preset.exclude(*result.keys(True, True)))
        tensordict.set("next", result)
        following = self._step_mdp(tensordict)
        if ended:
            first = self._by_name(self._present.observations) | self._not_done()
            if any(isinstance(part, dict) for part in first.values()):
                first = dict(self._tensordict(first, device=following.device).items())
            for name, part in first.items():
                # They are as the specs say, so that `set`, which checks that, would only take its time.
                following._set_str(name, part, validated=True, inplace=False, non_blocking=False)
            self._present.begun = None
        return tensordict, following

    def _is_here(self, tensordict: TensorDictBase) -> bool:
        """Whether a TensorDict without a device has its action on the CPU and the env is there, too. Collectors give
        such ones, and `to` takes as long as several steps."""
        if tensordict.device is not None or self._lanes.device.type != "cpu":
            return False
        action = tensordict.get("action", None)
        return isinstance(action, torch.Tensor) and action.device.type == "cpu"

    # ---- TensorDicts -------------------------------------------------------------------------------------------------

    def _stepped(self, tensordict: TensorDictBase) -> tuple[TensorDictBase, bool]:
        """What is in "next" after a step, and whether an episode has ended.

        Raises:
            LaneError: some lanes have failed. Its `result` is what is in "next" of the others.
        """
        action = _taken(self.env.single_action_space, tensordict, "action")
        try:
            return self._next(tensordict.device, *self._lanes.step(action))
        except LaneError as error:
            error.result, _ = self._next(tensordict.device, *error.result)
            # The next reset resets lanes that have failed, whatever state they are in.
            if self._present.begun is not None:
                self._present.begun = _but(self._present.begun, error.env_id)
            raise

    def _next(
        self, device: torch.device | None, observations: Any, rewards: Any, terminated: Any, truncated: Any, infos: Any
    ) -> tuple[TensorDictBase, bool]:
        """Of what a step has returned: what is in "next", and whether an episode has ended."""
        self._present.observations, self._present.begun = observations, None
        last, done = observations, terminated | truncated
        ended = "final_rows" in infos
        if ended:
            lanes, rows = infos["final_rows"]
            last = _replaced(observations, lanes, rows)
            self._present.begun = done
        flags = {"done": done, "terminated": terminated, "truncated": truncated}
        columns = {name: flag.unsqueeze(-1) for name, flag in flags.items()}
        return self._tensordict(self._by_name(last), device=device, reward=rewards.unsqueeze(-1), **columns), ended

    def _by_name(self, observations: Any) -> dict[str, Any]:
        return observations if self._named else {"observation": observations}

    def _not_done(self) -> dict[str, torch.Tensor]:
        flags = torch.zeros((len(_DONE), self.num_envs, 1), dtype=torch.bool, device=self._lanes.device)
        return dict(zip(_DONE, flags.unbind(0), strict=True))

    def _tensordict(
        self, observations: dict[str, Any], *, device: torch.device | None, **values: torch.Tensor
    ) -> TensorDictBase:
        """All in one TensorDict, which is said to be on `device`."""
        if any(isinstance(part, dict) for part in observations.values()):
            return TensorDict({**observations, **values}, batch_size=self.batch_size, device=device)
        return TensorDict._new_unsafe({**observations, **values}, batch_size=self.batch_size, device=device)


def _check_keys(what: str, keys: Any, others: set[Any]) -> None:
    """Raises ValueError where parts of observations or actions have a key that means something else."""
    taken = others & set(keys)
    if taken:
        raise ValueError(
            f"{what} have the key {min(taken)!r}, which TensorDicts need for something else: rename it with a wrapper"
        )


def _taken(space: spaces.Space, tensordict: Any, name: str) -> Any:
    """An action as the BatchEnv takes it. name: of one that is no Dict."""
    if not isinstance(space, spaces.Dict):
        return tensordict.get(name)
    return {
        key: _taken(part, tensordict.get(key) if isinstance(part, spaces.Dict) else tensordict, key)
        for key, part in space.items()
    }


def _but(flags: torch.Tensor, lanes: Any) -> torch.Tensor:
    """`flags`, but False for these lanes."""
    flags = flags.clone()
    flags[torch.as_tensor(lanes)] = False
    return flags


def _replaced(observations: Any, lanes: torch.Tensor, rows: Any) -> Any:
    """Observations with other rows for these lanes, in new memory."""
    if isinstance(observations, dict):
        return {name: _replaced(part, lanes, rows[name]) for name, part in observations.items()}
    return torch.index_copy(observations, 0, lanes, rows)  # half the time of an assignment to a clone
