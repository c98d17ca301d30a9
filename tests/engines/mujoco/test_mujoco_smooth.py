"""Springs, dampers and gravity compensation in groups: the same bits as mj_step's."""

import numpy as np
import pytest

import batchenv
from helpers.arm import INTEGRATORS, arm, assert_exact, assert_exact_with_models_of_their_own
from helpers.together import always_alone, assert_like_mj_step, how

pytestmark = pytest.mark.skipif(always_alone(), reason="this MuJoCo or CPU always takes mj_step")

COMPENSATED = {"arm": 'gravcomp="1"', "fore": 'gravcomp="-.3"', "b": 'actuatorgravcomp="true"'}
SPRINGS = {"free": 'stiffness="5"', "ball": 'stiffness="2"', "joint": 'stiffness="3" springref=".2"'}
CURVES = {
    **{"free": 'stiffness="5 -1 2" damping=".1 .2 0"', "ball": 'stiffness="0 0 2"'},
    **{"joint": 'stiffness="3 1 .5" damping=".1 0 .2"', "tendon": 'stiffness="4 0 3" damping=".2 .1 .4"'},
}
MODELS = {
    "gravity compensation": arm(**COMPENSATED),
    "gravity compensation by actuators": arm(
        **COMPENSATED | {"b": 'actuatorgravcomp="true" actuatorfrcrange="-.2 .1"'}, free='actuatorgravcomp="true"'
    ),
    "no gravity to compensate": arm(**COMPENSATED, options='gravity="0 0 0"'),
    "springs": arm(**SPRINGS),
    "polynomials": arm(**CURVES),
    "a curved spring between": arm(tendon='stiffness="0 2 1" springlength="-.1 .1"'),
    "no springs": arm(**CURVES | COMPENSATED, flags='spring="disable"'),
    "no dampers": arm(**CURVES | COMPENSATED, flags='damper="disable"'),
    "no passive forces": arm(
        **CURVES | COMPENSATED, flags='spring="disable" damper="disable"', options='density="9" viscosity=".2"'
    ),
    "no reset": arm(flags='autoreset="disable"'),
}


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", MODELS)
def test_passive_forces(name, integrator, monkeypatch):
    if name == "no passive forces" and integrator == "implicitfast":
        pytest.skip("fluids with implicitfast take mj_step")
    assert_exact(MODELS[name], integrator, monkeypatch)


@pytest.mark.parametrize("name", ["springs", "polynomials", "gravity compensation"])
def test_lanes_with_models_of_their_own(name, monkeypatch):
    fields = {"jnt_stiffness": (0.5, 2), "dof_damping": (0.5, 2), "body_gravcomp": (0.5, 2), "body_mass": (0.5, 2)}
    assert_exact_with_models_of_their_own(monkeypatch, MODELS[name], **fields)


def test_a_lane_without_gravity(monkeypatch):
    """MuJoCo then compensates nothing, not even with a zero."""

    def change(env):
        env.set_params(lanes=[2], gravity=np.zeros(3))
        env.set_params(lanes=[3], body_gravcomp=np.zeros_like(env.get_attr("model")[0].body_gravcomp))
        if how(env)[0].startswith("together"):
            assert "gravity or body_gravcomp" in how(env)[2]
            assert "body_gravcomp is 0 or less" in how(env)[3]

    def make():
        return batchenv.make_mujoco(MODELS["gravity compensation"], 6, num_threads=1)

    assert_like_mj_step(monkeypatch, make, 30, change=change)
