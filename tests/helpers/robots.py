"""Tasks that are made of one part of batchenv.robots."""

import importlib.util
from pathlib import Path

import gymnasium
import numpy as np

import batchenv
from batchenv import robots

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/own_task"
ROBOT = EXAMPLES / "quadruped.xml"
DT = 0.02  # s per step


def example(name):
    """A module of EXAMPLES."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(folder, name, edits):
    """The id of a task in C that is examples/own_task/stand.c with {what is there once: what is there instead}."""
    text = (EXAMPLES / "stand.c").read_text()
    for before, after in {**edits, "Stand-v0": f"{name}-v0"}.items():
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    file = folder / f"{name.lower()}.c"
    file.write_text(text)
    return batchenv.compile(file).ids[0]


LANES = 6
Stand = example("stand").Stand


def make(task=Stand, lanes=LANES, **kwargs):
    return batchenv.make_mujoco(ROBOT, lanes, task=task, **kwargs)


def changed(**members):
    return type("Changed", (Stand,), members)


class Probe(batchenv.MuJoCoTask):
    """Has one part of a task, which `make` puts there."""

    frame_skip = 5

    def prepare(self):
        self.part = self.make(self.model)
        self.state = robots.states(self.part)

    def start(self, lanes):
        getattr(self.part, "start", lambda lanes: None)(lanes)

    def observe(self, lanes):
        return np.concatenate([np.reshape(getattr(lanes, name), (len(lanes), -1)) for name in self.state], axis=1)


def probe(make, lanes=4, base=Probe, xml=ROBOT, **members):
    """An env of a Probe with this part."""
    task = type("Probe", (base,), {"make": staticmethod(make), **members})
    return batchenv.make_mujoco(xml, lanes, task=task, num_threads=1)


def played(env, steps, seed=0):
    """States of the part before each step, and after the last: {name: (steps + 1, lanes, ...)}."""
    env.reset(seed=seed)
    actions = np.zeros(env.action_space.shape, np.float32)
    states = [env.state]
    for _ in range(steps):
        env.step(actions)
        states.append(env.state)
    return {name: np.stack([state[name] for state in states]) for name in states[0]}


def actions_of(rng, lanes=LANES, scale=1.0):
    """Random actions of `Stand`."""
    return rng.uniform(-scale, scale, (lanes, 12)).astype(np.float32)


class Everything(batchenv.MuJoCoTask):
    """What Stand does not use: terms, dicts, dtypes, integers, a push, things by name."""

    frame_skip = 2
    params = {"weight": 1.5, "count": 3, "flag": True}
    action_space = gymnasium.spaces.Box(-2, 2, (3,), np.float64)

    def prepare(self):
        self.state = {"command": np.zeros(2, np.float32), "timer": np.int64(0), "phase": np.float64(0.5)}

    def start(self, lanes):
        lanes.command = lanes.normal(0, 1, 2)
        lanes.timer = lanes.integers(2, 9)

    def control(self, lanes, actions):
        lanes.xfrc_applied[:, 1, 2] = lanes.weight * lanes.count
        return np.repeat(actions, 4, axis=1)

    def reward(self, lanes, actions):
        return {"alive": np.ones(len(lanes)), "track": -np.abs(lanes.command).sum(1)}

    def update(self, lanes, actions):
        lanes.timer -= 1
        lanes.phase[lanes.timer < 3] = 0.25

    def observe(self, lanes):
        return {
            "policy": lanes.qpos.astype(np.float32),
            "critic": {"timer": lanes.timer[:, None], "feet": lanes.geoms(".*_foot").xpos.astype(np.float32)},
        }


def same(ours, theirs):
    """Whether two steps' results are the same to the last bit, infos included."""
    for one, other in zip(ours[:4], theirs[:4], strict=True):
        assert one.tobytes() == other.tobytes()
    assert ours[4].keys() == theirs[4].keys()
    for name in ours[4].keys() - {"episode", "final_obs", "final_info"}:
        assert np.array_equal(ours[4][name], theirs[4][name]), name
    for one, other in zip(ours[4].get("final_obs", ()), theirs[4].get("final_obs", ()), strict=True):
        assert (one is None) == (other is None) and (one is None or one.tobytes() == other.tobytes())
    if "episode" in ours[4]:
        for key in "rl":
            assert np.array_equal(ours[4]["episode"][key], theirs[4]["episode"][key])
