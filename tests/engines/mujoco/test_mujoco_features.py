"""Every field of mjModel and mjOption is known: one that a newer release adds is not left out by mistake."""

import re
from pathlib import Path

import batchenv
from batchenv import _core
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
    "constraints.py puts these names together": r"pair_(gap|solref|solimp)",
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
