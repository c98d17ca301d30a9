"""Says in which stages of a step two releases of MuJoCo differ in a bit: what csrc/engines/physics has to learn.

    pip install --no-deps --target old mujoco==3.17.0
    pip install --no-deps --target new mujoco==4.0.0
    python tools/verify/compare_releases.py old new [--states 200] [--models PATH ...]

Both releases run the same stages of the same states of the same models (by default those of Gymnasium), one exported
function after the other, each in a process of its own. After each stage the new release's results are replaced by the
old one's, and so are numbers of the compiled model: so a stage is named only if it differs itself, and not for what it
was given (except for mj_RungeKutta, which calls all others). A stage that is in none of the lines computes the same
bits. Exit status 1: something differs.
"""

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import mujoco
import numpy as np

PLACES = ("xpos", "xquat", "xmat", "xipos", "ximat", "xanchor", "xaxis", "geom_xpos", "geom_xmat", "site_xpos")
ROWS = ("efc_J", "efc_pos", "efc_D", "efc_R", "efc_KBIP")
# The functions of a stage (the first that the release has), and the arrays that it fills in.
STAGES = (
    (("mj_kinematics",), PLACES),
    (("mj_comPos",), ("subtree_com", "cinert", "cdof")),
    (("mj_tendon",), ("ten_length",)),
    (("mj_makeM", "mj_crb"), ("crb", "M", "qM")),
    (("mj_factorM",), ("qLD", "qLDiagInv")),
    (("mj_collision",), ("contact.dist", "contact.pos", "contact.frame", "contact.friction")),
    (("mj_makeConstraint",), ROWS),
    (("mj_island",), ()),
    (("mj_projectConstraint",), ("efc_AR",)),
    (("mj_transmission",), ("actuator_length",)),
    (("mj_fwdVelocity",), ("cvel", "cdof_dot", "qfrc_passive", "qfrc_bias", "actuator_velocity", "ten_velocity")),
    (("mj_referenceConstraint",), ("efc_aref", "efc_vel")),
    (("mj_fwdActuation",), ("actuator_force", "qfrc_actuator")),
    (("mj_fwdAcceleration",), ("qfrc_smooth", "qacc_smooth")),
    (("mj_fwdConstraint",), ("qacc", "qfrc_constraint", "efc_force")),
    (("mj_rnePostConstraint",), ("cfrc_ext", "cacc")),
    (("mj_Euler",), ("qpos", "qvel")),
    (("mj_RungeKutta",), ("qpos", "qvel")),
)
DERIVED = "the compiled model"


def array(data, name):
    """The array of this name in an mjData, or None if the release has none."""
    value = getattr(data, name, None) if "." not in name else getattr(data.contact, name.split(".")[1])
    return None if value is None else np.array(value, np.float64)


def replace(owner, name, value):
    """Puts numbers into an array of an mjData or mjModel, if it has this size."""
    target = getattr(owner, name, None)
    if isinstance(target, np.ndarray) and target.size == value.size:
        target[...] = value.reshape(target.shape)


def compiled(model, given):
    """The model's numbers; then those of the other release take their place."""
    found = {}
    for name in dir(model):
        value = None if name.startswith("_") else getattr(model, name)
        if isinstance(value, np.ndarray) and value.dtype == np.float64:
            found[name] = value.copy()
            if given is not None and name in given:
                replace(model, name, given[name])
    return found


def states(model, count):
    """States of a simulation with random controls, that starts anew in between."""
    rng, data, found = np.random.default_rng(0), mujoco.MjData(model), []
    for k in range(count):
        if k % 20 == 0:
            mujoco.mj_resetData(model, data)
            scale = rng.choice([0.01, 0.1, 0.5])
            data.qpos[:] += rng.uniform(-scale, scale, model.nq)
            data.qvel[:] = rng.standard_normal(model.nv) * scale
        data.ctrl[:] = rng.uniform(-1, 1, model.nu)
        for _ in range(3):
            mujoco.mj_step(model, data)
        found.append([data.qpos.copy(), data.qvel.copy(), data.ctrl.copy(), data.qacc_warmstart.copy()])
    return found


def run_stages(model, data, given):
    """What each stage fills in: {"stage: array": numbers}."""
    found = {}
    for names, arrays in STAGES:
        function = next((getattr(mujoco, name) for name in names if hasattr(mujoco, name)), None)
        if function is None or (names[0] == "mj_tendon" and not model.ntendon):
            continue
        last = [data.qpos.copy(), data.qvel.copy()]
        function(model, data, 4) if names[0] == "mj_RungeKutta" else function(model, data)
        for name in arrays:
            value = array(data, name)
            if value is None:
                continue
            key = f"{names[0]}: {name}"
            found[key] = value
            if given is not None and key in given and "." not in name:
                replace(data, name, given[key])
        if names[0] in ("mj_Euler", "mj_RungeKutta"):  # the next one begins where this one began
            data.qpos[:], data.qvel[:] = last
    return found


def child(paths, count, given):
    """All that is compared of one release: {model: (its numbers, states, a dict per state)}."""
    results = {}
    for path in paths:
        old = given and given.get(path)
        model = mujoco.MjModel.from_xml_path(path)
        numbers = compiled(model, old and old[0])
        chosen = old[1] if old else states(model, count)
        rows = []
        for k, (qpos, qvel, ctrl, warmstart) in enumerate(chosen):
            data = mujoco.MjData(model)
            data.qpos[:], data.qvel[:], data.ctrl[:], data.qacc_warmstart[:] = qpos, qvel, ctrl, warmstart
            rows.append(run_stages(model, data, old and old[2][k]))
        results[path] = (numbers, chosen, rows)
    return results


def release(folder, arguments, target):
    """Runs this program with the mujoco of a folder. Returns its version and results."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}
    subprocess.run([sys.executable, __file__, "--child", target, *arguments], env=environment, check=True)
    return pickle.loads(Path(target).read_bytes())


def count_different(found, key, old, new):
    if old is not None and new is not None and old.shape == new.shape:
        differing = int((old.view(np.int64) != new.view(np.int64)).sum())
    else:
        differing = max(getattr(old, "size", 0), getattr(new, "size", 0))
    if differing:
        found[key] = found.get(key, 0) + differing


def report(old, new):
    """Prints where results differ. Returns whether they do."""
    lines = {}
    for path in old:
        (old_model, _, old_rows), (new_model, _, new_rows) = old[path], new[path]
        found = {}
        for name in sorted(set(old_model) & set(new_model)):
            count_different(found, f"{DERIVED}: {name}", old_model[name], new_model[name])
        for one, two in zip(old_rows, new_rows, strict=True):
            for key in one:
                if key in two:
                    count_different(found, key, one[key], two[key])
        for key, number in found.items():
            lines.setdefault(key, []).append(f"{Path(path).stem} {number}")
    print("| stage: array | numbers that differ, by model |\n|---|---|")
    order = [DERIVED, *(names[0] for names, _ in STAGES)]
    for key in sorted(lines, key=lambda key: order.index(key.split(":")[0])):
        print(f"| {key} | {', '.join(lines[key])} |")
    return bool(lines)


def default_models():
    from batchenv.envs.mujoco import tasks

    return [str(path) for path in sorted(tasks.assets().glob("*.xml")) if path.stem != "point"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", help="two folders that pip has installed mujoco in: old, new")
    parser.add_argument("--states", type=int, default=200, help="of each model")
    parser.add_argument("--models", nargs="*", help="XML files")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--given", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        given = pickle.loads(Path(args.given).read_bytes())[1] if args.given else None
        results = child(args.models, args.states, given)
        Path(args.child).write_bytes(pickle.dumps((mujoco.__version__, results)))
        return 0
    if len(args.folders) != 2:
        parser.error("name two folders: the old release's, and the new one's")
    chosen = ["--states", str(args.states), "--models", *(args.models or default_models())]
    with tempfile.TemporaryDirectory() as folder:
        first, second = os.path.join(folder, "old"), os.path.join(folder, "new")
        old_version, old = release(args.folders[0], chosen, first)
        new_version, new = release(args.folders[1], ["--given", first, *chosen], second)
    print(f"mujoco {old_version} and {new_version}, {args.states} states of each of {len(old)} models\n")
    return report(old, new)


if __name__ == "__main__":
    sys.exit(main())
