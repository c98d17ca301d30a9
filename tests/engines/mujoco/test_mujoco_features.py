"""Every field of mjModel and mjOption is known: one that a newer release adds is not left out by mistake. And pairs of
geoms."""

import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import batchenv
from batchenv import _core
from batchenv.envs.mujoco import features
from helpers.mujoco import mujoco

# Fields that neither csrc/engines/physics nor batchenv/envs/mujoco reads by name, and why a step in a group is right
# without them.
UNREAD = {
    "names, texts and numbers of the user": r"name_\w+|names_map|nnames\w*|paths|npaths|\w+_user|nuser\w+|"
    r"n?numeric\w*|n?text_\w+|ntextdata|ntext|n?tuple\w*|key_\w+|nkey",
    "only pictures show them": r"light_\w+|nlight|mat_\w+|nmat|tex_\w+|ntex|ntexdata|n?skin\w*|\w+_rgba|\w+_matid|"
    r"\w+_group|geom_castshadow|tendon_width|cam_ipd|stat|vis",
    "cameras: MuJoCo computes their sensors": r"cam_\w+|ncam",
    "flexes: such a model is stepped by mj_step": r"n?flex\w*|n?efm\w+|nJf[ev]",
    "plugins: such a model is stepped by mj_step": r"plugin\w*|\w+_plugin|nplugin\w+",
    "delays: such a model is stepped by mj_step, and without a history nothing is delayed": r"\w+_history(adr)?|"
    r"sensor_interval",
    "plastic springs (nplastic): such a model is stepped by mj_step": r"\w+_plasticadr|\w+_springyield",
    "adhesion and moving surfaces (flg_adhesion, flg_surfacevel): such a model is stepped by mj_step": r"\w+_adhesion|"
    r"geom_surfacevel",
    "sleeping (an extra): such a model is stepped by mj_step": r"tree_sleep_policy|dof_length|sleep_tolerance",
    "overrides of contacts (an extra): such a model is stepped by mj_step": r"o_\w+",
    "signed distance fields: such a model is stepped by mj_step": r"sdf_\w+|n?oct_?\w*",
    "shapes whose collisions are MuJoCo's": r"n?mesh\w*|npolygonmax|n?hfield\w*|geom_dataid|site_dataid|ccd_\w+",
    "MuJoCo's searches for near geoms, which only leave out pairs that cannot touch": r"n?bvh\w*|body_contype|"
    r"body_conaffinity",
    "noslip iterations: MuJoCo solves these constraints": r"noslip_tolerance",
    "actuators with several inputs or outputs (nactuator, nout)": r"actuator_(ctrl|out)\w+",
    "constraints.py puts these names together": r"pair_(margin|gap|friction|solref|solimp)",
    "the compiler's, or other ways to find what is read": r"body_geomadr|tree_bodyadr|tree_bodynum|tree_dofadr|"
    r"tendon_tree\w+|tendon_type|tendon_actuatorid|actuator_length0|dof_Madr|mapM2M|nM|nJmom|nwrap|nemax|nconmax|"
    r"njmax|neq|nexclude|nuserdata|sensor_noise|signature",
}


def read():
    """All words of the code that reads models."""
    folder = Path(batchenv.__file__).parent / "envs" / "mujoco"
    text = " ".join(path.read_text() for path in folder.glob("*.py"))
    return {*re.findall(r"\w+", text), *_core.PHYSICS_SIZES, *_core.PHYSICS_INTS, *_core.PHYSICS_FLOATS}


def fields(value):
    return [name for name in dir(value) if not name.startswith("_") and not callable(getattr(value, name))]


def test_no_field_is_unnamed():
    model = mujoco.MjModel.from_xml_string("<mujoco><worldbody/></mujoco>")
    known, reasons = read(), re.compile("|".join(UNREAD.values()))
    names = {*fields(model), *(f"opt_{name}" for name in fields(model.opt))} - {"opt"}
    unnamed = {name for name in names if not {name, name.removeprefix("opt_")} & known}
    unnamed = {name for name in unnamed if not reasons.fullmatch(name.removeprefix("opt_"))}
    assert not unnamed, "these fields are new: what do they change in a step? See docs/internals/mujoco.md"


def test_no_flag_is_unnamed():
    """Flags that disable something are looked at, or change nothing here; each that enables something is a reason."""
    of_mujocos_collisions = {"MULTICCD", "NATIVECCD"}
    of_bad_numbers = {"AUTORESET"}  # mj_step steps such lanes again
    flags = {name.removeprefix("mjDSBL_") for name in dir(mujoco.mjtDisableBit) if name.startswith("mjDSBL_")}
    assert len(flags) > 15
    assert flags - read() <= of_mujocos_collisions | of_bad_numbers


BALL = '<body name="b{0}" pos="{0} 0 0"><freejoint/><geom size=".1"/></body>'


def test_pairs_of_thousands_of_geoms():
    """A landscape of geoms that do not move takes little memory, however many there are."""
    ground = "".join(f'<geom size=".1" pos="{k} 0 0"/>' for k in range(5000))
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{ground}{BALL.format(0)}</worldbody></mujoco>")
    tracemalloc.start()
    found, _ = features.pairs(mujoco, model)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(found, np.column_stack([np.arange(5000), np.full(5000, 5000)]))
    assert peak < 2e7


@pytest.mark.parametrize("excluded", [False, True])
def test_pairs_that_are_looked_at_by_and_by(excluded, monkeypatch):
    """All are found, also where more than _MOST_PAIRS are excluded."""
    count = 20
    pairs = [(k, j) for k in range(count) for j in range(k)]
    less = "".join(f'<exclude body1="b{k}" body2="b{j}"/>' for k, j in pairs[1:]) if excluded else ""
    bodies = "".join(BALL.format(k) for k in range(count))
    text = f"<mujoco><worldbody>{bodies}</worldbody><contact>{less}</contact></mujoco>"
    monkeypatch.setattr(features, "_AT_A_TIME", 1)
    monkeypatch.setattr(features, "_MOST_PAIRS", 100 if excluded else 1000)
    found, _ = features.pairs(mujoco, mujoco.MjModel.from_xml_string(text))
    assert sorted(map(tuple, found[:, ::-1].tolist())) == (pairs[:1] if excluded else pairs)
