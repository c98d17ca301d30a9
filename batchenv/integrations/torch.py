"""PyTorch: actions are tensors, and so is everything that comes back, on the CPU or on a GPU."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any

from gymnasium import spaces

from batchenv._core import Tensors, TensorSteps
from batchenv.arguments.seeds import Seeds
from batchenv.backend.protocol import InfoDict, LaneError, Options
from batchenv.backend.results import converted, final_rows
from batchenv.env import wrapping
from batchenv.env.batch_env import BatchEnv
from batchenv.env.rollout import Rollout
from batchenv.integrations.tensors import arrays, counted, device_of, renew, tensor, tensors, torch
from batchenv.integrations.transfer import Streams, Transfer
from batchenv.integrations.wrapper import Forwarding
from batchenv.spaces import nested

ENV_TYPES = {"torch": "TorchBatchEnv"}


class TorchBatchEnv(TensorSteps, Forwarding):
    """A BatchEnv that takes tensors and returns tensors; `.env` is the BatchEnv, and attributes not found here are
    looked up there.

    Everything is as with the BatchEnv, except for these:

    - Rewards are float32, as storages of rollouts hold them; `reward_dtype="float64"` changes that.
    - With "SameStep", a step that ends episodes has `infos["final_rows"]` in place of "final_obs": (lanes, rows), an
      int64 tensor of the rows of this step that ended, and their last observations in one tensor.
    - With `copy=False` the tensors themselves come again, not their memory alone: do not change their shape or their
      `requires_grad` in place.

    On the CPU, tensors and BatchEnv's arrays share their memory, and nothing is copied. On a GPU, the lanes are stepped
    by the CPU all the same: it writes results into pinned memory, from where they are copied to the GPU on a stream of
    their own. Kernels that are launched afterwards on the current stream wait for that, the CPU does not. Actions come
    to the CPU by the same way; `step` has to wait for these.

    Args:
        env: the BatchEnv.
        device: "cpu", "cuda", or one GPU such as "cuda:0".

    Raises:
        ValueError: torch sees no such device.
    """

    DEFAULTS = {"reward_dtype": "float32"}
    KEYWORDS = ("device",)

    def __init__(self, env: BatchEnv, device: Any = "cpu"):
        super().__init__(env)
        self.device = device_of(device)
        self._transfer = None if self.device.type == "cpu" else Transfer(env, self.device, Streams(self.device))
        action_spaces = (spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
        reads_tensors = isinstance(env.single_action_space, action_spaces) and env.backend == "C"
        step = env.step if reads_tensors else lambda actions: env.step(arrays(actions))
        rows_of = partial(final_rows, env.single_observation_space)
        again = not env.config.get("copy", True)
        # The drawer of a render mode watches each step, which goes through the env for that.
        direct = counted and reads_tensors and env.render_mode is None and not again
        batch = wrapping.stepping_core_of(env) if direct else None
        self._make_tensors = lambda batch: Tensors(torch.Tensor, tensor, rows_of, again, step, batch, renew)
        self._tensors = self._make_tensors(batch)
        if direct:
            follow = weakref.WeakMethod(self._follow)  # the env does not keep what is around it
            wrapping.tell_of_backends(env, lambda backend: None if (tell := follow()) is None else tell(backend))
        if self._transfer is None:
            self._step_by(self._tensors)

    def __reduce__(self) -> Any:
        return type(self), (self.env, self.device)

    def _follow(self, backend: Any) -> None:
        """Steps lanes by way of the C core's batch unless something watches them; see `wrapping.tell_of_backends`."""
        finals_only = self._tensors.finals_only
        watched = backend.innermost() is not backend
        self._tensors = self._make_tensors(None if watched else getattr(backend, "core", None))
        self._tensors.finals_only = finals_only
        if self._transfer is None:
            self._step_by(self._tensors)

    def _keep_finals_only(self) -> None:
        """Leaves out infos other than "final_rows", for whoever reads no others: they take time, and some cannot be put
        together."""
        wrapping.keep_infos_apart(self.env)
        self._tensors.finals_only = True

    def reset(self, env_id: Any = None, *, seed: Seeds = None, options: Options = None) -> tuple[Any, InfoDict]:
        """Starts new episodes, as `BatchEnv.reset`. The "reset_mask" of options, and env_id, may be tensors.

        Returns:
            observations (num_envs, ...) and infos, as tensors.
        """
        if isinstance(options, dict):
            options = {name: arrays(value) for name, value in options.items()}
        return converted(self._result, self.env.reset, arrays(env_id), seed=seed, options=options)

    def _reset_lanes(self, seed: Any, mask: Any, options: Options) -> tuple[Any, InfoDict]:
        """`wrapping.reset_lanes`, with tensors."""
        return converted(self._result, wrapping.reset_lanes, self.env, seed, arrays(mask), options)

    def _step(self, actions: Any, env_id: Any, out: Any) -> Any:
        """`step` of some lanes, with `out`, or on a GPU; others are TensorSteps' own."""
        if self._transfer is not None:
            return self._step_on_gpu(self._transfer, actions, env_id, out)
        return self._step_into(arrays(actions), arrays(env_id), out)

    def _step_into(self, actions: Any, env_id: Any, out: Any) -> Any:
        """`step` of some lanes, or with `out`."""
        if out is None:
            return converted(self._result, self.env.step, actions, env_id)
        out = tuple(out)

        def result_in(*result: Any) -> Any:
            mine = [array if given is None else given for given, array in zip(out, result[:-1], strict=True)]
            return (*map(tensors, mine), self._infos(result[-1]))

        return converted(result_in, self.env.step, actions, env_id, out=arrays(out))

    def _step_on_gpu(self, transfer: Transfer, actions: Any, env_id: Any, out: Any) -> Any:
        """`step` on another device than the CPU."""
        actions = transfer.to_cpu(actions)
        if env_id is not None:  # rows of some lanes, which have no place in the buffers
            if out is not None:
                raise ValueError("step(actions, env_id) takes no out on a GPU: leave out one of them")
            return converted(self._result, self.env.step, actions, arrays(env_id))
        out = transfer.check_out(out)

        def sent(*result: Any) -> Any:
            return (*transfer.to_device(result[:-1], out), self._infos(result[-1]))

        return converted(sent, self.env.step, actions, out=transfer.buffers())

    def send(self, actions: Any, env_id: Any = None) -> None:
        """Sends lanes to be stepped, as `BatchEnv.send`."""
        self.env.send(arrays(actions), arrays(env_id))

    def recv(self, timeout: float | None = None) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """The lanes that are finished first, as `BatchEnv.recv`; `infos["env_id"]` says which."""
        return converted(self._result, self.env.recv, timeout)

    async def arecv(self) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """As `BatchEnv.arecv`."""
        try:
            result = await self.env.arecv()
        except LaneError as error:
            error.result = self._result(*error.result)
            raise
        return self._result(*result)

    def step_async(self, actions: Any) -> None:
        """Sends all lanes to be stepped, as `BatchEnv.step_async`."""
        self.env.step_async(arrays(actions))

    def step_wait(self, timeout: float | None = None) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """What `step` would return, after `step_async`."""
        return converted(self._result, self.env.step_wait, timeout)

    def rollout(self, actions: Any, **keywords: Any) -> Rollout:
        """Many steps in one call, as `BatchEnv.rollout`, but without `out`."""
        return converted(self._rollout, self.env.rollout, arrays(actions), **keywords)

    def set_state(self, values: Any, lanes: Any = None) -> Any:
        """Sets fields of the state of lanes, as `BatchEnv.set_state`."""
        given = {name: arrays(value) for name, value in values.items()}
        return self._on_device(self.env.set_state(given, arrays(lanes)))

    def restore(self, snapshot: Any, lanes: Any = None, *, rows: Any = None) -> Any:
        """Puts lanes of a snapshot into lanes, as `BatchEnv.restore`."""
        return self._on_device(self.env.restore(snapshot, arrays(lanes), rows=arrays(rows)))

    @property
    def state(self) -> dict[str, Any]:
        """Each lane's state, as `BatchEnv.state`; tensors that may be written, as they are copies."""
        return self._on_device(self.env.state)

    # ---- from arrays to tensors --------------------------------------------------------------------------------------

    def _on_device(self, value: Any) -> Any:
        """`value` with tensors on the env's device."""
        return self._moved(tensors(value))

    def _moved(self, value: Any) -> Any:
        """Tensors of the CPU, on the env's device."""
        if self._transfer is None:
            return value
        return nested.each(lambda part: part.to(self.device) if isinstance(part, torch.Tensor) else part, value)

    def _result(self, *result: Any) -> Any:
        """A result that ends with infos."""
        return (*map(self._on_device, result[:-1]), self._infos(result[-1]))

    def _rollout(self, *result: Any) -> Rollout:
        return Rollout(*map(self._on_device, result))

    def _infos(self, infos: InfoDict) -> dict[str, Any]:
        """Infos of any call, with tensors."""
        return self._moved(self._tensors.of_infos(infos)) if infos else infos
