"""Orientations of geoms and sites whose frame is nearly that of their body, or of its inertia.

MuJoCo's compiler takes nearly equal frames for the same, and from 4.0 on the frame that they share counts wherever
MuJoCo needs an orientation; before, in some places, their own.
"""

import numpy as np
import pytest

from batchenv import _core
from helpers.mujoco import mujoco
from helpers.together import LANES, Both, always_alone, solved_by_mujoco, xml

pytestmark = pytest.mark.skipif(always_alone(), reason="this MuJoCo or CPU always takes mj_step")

FRAME = 'euler="20 30 40"'
AT = {
    "inertia": f'pos=".1 .2 .3" {FRAME}',
    "body": "",
    "turned like the inertia": f'pos=".3 0 0" {FRAME}',
    "turned": 'pos=".3 0 0"',
}
BODY = (
    '<body name="one" pos="0 0 1"><freejoint/><geom name="g" type="ellipsoid" size=".1 .2 .3" pos=".1 .2 .3" {frame}/>'
    '<site name="s" {at}/><body pos="0 0 .5"><joint name="j" axis="0 1 0"/><geom name="h" size=".05"/></body></body>'
    '<body name="two" pos="0 .6 1"><freejoint/><geom type="box" size=".1 .2 .1"/><site name="t"/></body>'
)
SENSORS = (
    '<sensor><framequat objtype="geom" objname="g"/><framequat objtype="site" objname="s"/>'
    '<framequat objtype="geom" objname="g" reftype="site" refname="s"/>'
    '<framequat objtype="site" objname="t" reftype="geom" refname="h"/></sensor>'
)
WELD = '<equality><weld site1="s" site2="t"/></equality>'
MOTORS = (
    '<actuator><motor joint="j"/><position site="s" refsite="t" gear="0 0 0 .1 .2 .3" kp="3"/>'
    '<position site="t" refsite="s" gear="0 0 0 .3 .1 .2" kp="3"/></actuator>'
)


@pytest.mark.parametrize("isa", _core.supported_isas())
@pytest.mark.parametrize("at", AT)
@pytest.mark.parametrize("more", ["", WELD])
def test_frames_that_are_nearly_the_same(more, at, isa, monkeypatch):
    monkeypatch.setenv("BATCHENV_ISA", isa)
    model = mujoco.MjModel.from_xml_string(xml(BODY.format(frame=FRAME, at=AT[at]), more + SENSORS, MOTORS))
    rng = np.random.default_rng(0)
    for quats in (model.geom_quat, model.site_quat):
        quats += rng.uniform(-1e-8, 1e-8, quats.shape)
    both = Both(model)
    for seed in range(3):
        differs, compared, _ = both.compare(np.random.default_rng(seed), (1, 2, 40))
        assert not differs and compared > 2 * LANES, seed
    assert solved_by_mujoco(both) == 0


def test_which_frames_are_the_same():
    """The cases above are the compiler's."""
    kinds = []
    for at in AT.values():
        model = mujoco.MjModel.from_xml_string(xml(BODY.format(frame=FRAME, at=at), SENSORS, MOTORS))
        kinds.append(int(model.site_sameframe[model.site("s").id]))
    assert len(set(kinds)) > 2, kinds
