"""What comparisons with Playground's own functions have in common."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct
from mujoco_playground._src import mjx_env

RTOL, ATOL = 2e-5, 2e-5


@struct.dataclass
class Data:
    """What Playground reads of an mjx.Data: of all lanes, float32."""

    qpos: jax.Array
    qvel: jax.Array
    qacc: jax.Array
    ctrl: jax.Array
    sensordata: jax.Array
    xpos: jax.Array
    site_xpos: jax.Array
    site_xmat: jax.Array
    actuator_force: jax.Array
    xfrc_applied: jax.Array


def data_of(datas, **others):
    """Data of the lanes' mjData. others: what is not as the physics has left it."""
    arrays = {
        name: np.stack([getattr(data, name) for data in datas])
        for name in Data.__dataclass_fields__
        if name not in others
    }
    arrays["site_xmat"] = arrays["site_xmat"].reshape(len(datas), -1, 3, 3)
    return Data(**{name: jnp.asarray(values, jnp.float32) for name, values in {**arrays, **others}.items()})


def stepped(env, config, model):
    """Playground's step over all lanes, of its env over a compiled mjModel, without the physics: its results are in
    the state's data already."""
    mjx_env.MjxEnv.__init__(env, config)
    env._mj_model = model
    env._mjx_model = SimpleNamespace(nbody=model.nbody, nu=model.nu, nv=model.nv)
    env._post_init()
    mjx_env.step = lambda model, data, action, steps: data
    return jax.jit(jax.vmap(env.step))


class Differences:
    """Whether numbers are the same, and the largest differences: worst, {what: number}."""

    def __init__(self, env_id):
        self.env_id, self.worst, self.largest = env_id, {}, {}

    def same(self, what, ours, theirs, where=slice(None), atol=ATOL):
        ours, theirs = np.asarray(ours[where], np.float64), np.asarray(theirs[where], np.float64)
        self.worst[what] = max(self.worst.get(what, 0.0), float(np.abs(ours - theirs).max(initial=0)))
        self.largest[what] = max(self.largest.get(what, 0.0), float(np.abs(theirs).max(initial=0)))
        np.testing.assert_allclose(ours, theirs, rtol=RTOL, atol=atol, err_msg=f"{self.env_id}, {what}")

    def terms(self, infos, metrics):
        """All parts of the reward, and those that only one of the two has."""
        terms = {name: values for name, values in infos["reward"].items() if not name.startswith("_")}
        assert {f"reward/{name}" for name in terms} == {name for name in metrics if name.startswith("reward/")}
        for name, values in terms.items():
            self.same(f"reward/{name}", values, metrics[f"reward/{name}"])

    def check(self):
        """Raises AssertionError if something was 0 in all states, so that nothing was compared."""
        never = [what for what, value in self.largest.items() if value == 0]
        assert not never, f"{self.env_id}: was 0 in all states: {', '.join(never)}"
