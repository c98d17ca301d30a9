"""The base class of tasks in NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from batchenv.envs.mujoco.vectorized.view import Lanes


class MuJoCoTask:
    """A task over a MuJoCo model whose functions compute with many lanes at once, in NumPy. Derive a class from this
    one, and make an env of it with `batchenv.make_mujoco(xml, num_envs, task=YourTask)`.

    Functions get `lanes`, a `Lanes`: its arrays have a first axis of the lanes that the call is about, which may be all
    of them or only some. In a step, these functions are called in this order:

        control, then MuJoCo's steps (with recontrol in between), then reward, terminated, update, observe, info

    and where episodes start: start, then mj_forward, then observe. A task object serves all lanes, so whatever differs
    between lanes belongs into `state`. The functions are run once when the env is made, with two lanes, to find out
    which arrays they read, and what observations and infos look like.

    Attributes:
        frame_skip: MuJoCo's steps per step of the env, unless the user says otherwise.
        max_episode_steps: the time limit, unless the user says otherwise; None: no limit.
        params: {name: default}, numbers or bools that users may give as keywords, and change by `env.set_params`, also
            lane by lane. In functions they are `lanes.NAME`, of shape (n,).
        reads: names of mjData's arrays that functions read only at times, and not when they are tried.
        action_space: a `Box` of one lane's actions. None: numbers from -1 to 1, one per actuator; or, if the task has
            no `control`, the range of the controls.
        observation_space: of one lane: a `Box`, or a `Dict` of them. None: no bounds.
        model: the mjModel, from `prepare` on. Lanes whose model `env.set_params` has changed have others.
        keeps: names of state that stays when a lane's episode ends, such as its level in a curriculum. A reset with a
            seed puts it back.
        state: {name: what a lane has when its episode starts}, numbers or arrays of float64, float32, int64, int32,
            uint8 or bool, which `prepare` sets. In functions, `lanes.NAME` has these of all lanes; they may be
            written. Snapshots and `env.state` hold them.
    """

    frame_skip: int = 1
    max_episode_steps: int | None = None
    params: Mapping[str, float] = {}
    reads: Sequence[str] = ()
    keeps: Sequence[str] = ()
    action_space: spaces.Box | None = None
    observation_space: spaces.Space[Any] | None = None
    model: Any
    state: dict[str, ArrayLike]

    def prepare(self) -> None:
        """Is called once, when `self.model` is known: the place to set `self.state`, and to look things up."""

    def start(self, lanes: Lanes) -> None:
        """Starts episodes: may write the state, `lanes.qpos` and `lanes.qvel`, which are those of the model, and
        `lanes.ctrl`, which is 0."""

    def control(self, lanes: Lanes, actions: NDArray[Any]) -> ArrayLike:
        """The controls (n, actuators) for actions (n, ...). It may also write the state; `lanes.qvel`, a push that
        changes velocities at once; and `lanes.xfrc_applied`, `lanes.qfrc_applied`, `lanes.mocap_pos` and
        `lanes.mocap_quat`, which stay as they are until they are written again or the episode ends."""
        return actions

    def recontrol(self, lanes: Lanes, actions: NDArray[Any], step: int) -> ArrayLike:
        """The controls (n, actuators) for each of MuJoCo's steps after the first of a step, from where lanes are by
        then: for a controller of your own, such as torques of springs and dampers, and for actions that come late.
        `step` counts from 1. A task that has this function pays for as many passes as there are steps."""
        raise NotImplementedError

    def reward(self, lanes: Lanes, actions: NDArray[Any]) -> ArrayLike | Mapping[str, ArrayLike]:
        """The rewards (n,), or a dict of terms (n,) whose sum is the reward. `infos["reward"]` has the terms, and
        `infos["reward_sums"]` their sums in the episode so far."""
        return np.zeros(len(lanes))

    def terminated(self, lanes: Lanes) -> ArrayLike:
        """Where episodes have ended: bool (n,)."""
        return np.zeros(len(lanes), np.bool_)

    def update(self, lanes: Lanes, actions: NDArray[Any]) -> None:
        """Writes what the task has to remember of this step into its state."""

    def observe(self, lanes: Lanes) -> ArrayLike | Mapping[str, Any]:
        """The observations (n, ...), or a dict of them."""
        return np.concatenate([lanes.qpos, lanes.qvel], axis=1)

    def info(self, lanes: Lanes) -> Mapping[str, ArrayLike]:
        """What goes into `infos`: {name: numbers (n, ...)}."""
        return {}
