"""Tasks that are made of one part of batchenv.robots."""

import importlib.util
from pathlib import Path

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
