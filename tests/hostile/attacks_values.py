"""Values that nobody should pass: each is refused with its name and the rule, or means what it says."""

import contextlib
import functools
import itertools
import os
import sys

import gymnasium
import numpy as np
from harness import attack, note

import batchenv
from helpers.begun import begun
from helpers.hostile import Complaints, clear, future, make, same, slow, zeros

BAD = (TypeError, ValueError)


@attack()
def seeds():
    complaints = Complaints()
    env = make("CartPole-v1", 2)
    wrong = np.array(5.0), "5", b"5", 5.0, -1, True, [1], [1, 2, 3], [1, -2], [1, 2.0], np.array([[1, 2]]), {1: 2}
    complaints.each(wrong, lambda seed: env.reset(seed=seed), "seed")
    complaints.each(wrong, lambda seed: env.async_reset(seed=seed), "seed")
    for seed in (np.array(5), np.int64(5), np.uint8(5)):
        with complaints.about(f"seed={seed!r}"):
            try:
                rows = env.reset(seed=seed)[0]
            except BAD as error:
                assert "seed" in str(error) and "unsized" not in str(error), error
            else:
                same(rows, env.reset(seed=5)[0])
    for seed in (2**64, 10**300, np.array([5, 6], np.uint64), (5, None)):
        with complaints.about(f"seed={seed!r}"):
            env.reset(seed=seed)
    complaints.tell()


HUGE = 10**400


@attack()
def numbers_too_big():
    complaints = Complaints()
    env = begun(make("CartPole-v1", 2))
    counts = "num_envs", "num_threads", "max_episode_steps", "action_repeat", "frame_stack", "batch_size"
    for name in (*counts, "reward_scale", "gravity"):  # thread_affinity is an offset, which goes round
        options = {"num_envs": 2, name: HUGE}
        complaints.refused(name, lambda options=options: batchenv.make("CartPole-v1", **options), BAD, name, "1")
    for name, value in {"clip_reward": (HUGE, None), "rescale_observation": (0, HUGE)}.items():
        options = {name: value}
        complaints.refused(name, lambda options=options: make("Catch-v0", 2, **options), BAD, name)
    complaints.refused("recv(10**400)", lambda: env.recv(HUGE), BAD, "timeout")
    complaints.refused("step_wait(10**400)", lambda: env.step_wait(HUGE), Exception)
    complaints.refused("set_attr", lambda: env.set_attr("gravity", HUGE), BAD, "gravity")
    complaints.refused("set_params", lambda: env.set_params(gravity=HUGE), BAD, "gravity")
    complaints.refused("set_params of lanes", lambda: env.set_params(gravity=[HUGE, 1]), BAD, "gravity")
    complaints.refused("actions", lambda: env.step([HUGE, 0]), BAD)
    complaints.refused("env_id", lambda: env.send([0], [HUGE]), BAD, "env_id")
    complaints.refused("rollout", lambda: env.rollout(HUGE, policy="random"), BAD, "actions")
    complaints.refused("render", lambda: env.render(HUGE), BAD, "lane")
    complaints.refused("lanes", lambda: env.snapshot(HUGE), BAD, "lane")
    complaints.refused("reset bounds", lambda: env.reset(options={"low": -HUGE, "high": HUGE}), BAD, "low")
    complaints.tell()


@attack()
def no_numbers():
    complaints = Complaints()
    env, twin = (begun(make("CartPole-v1", 2)) for _ in range(2))
    nan = float("nan")
    wrong = nan, [nan, nan], [9.8, nan], np.float32(nan), "x", None, 1j, [1j, 1j], [[1, 2], [3, 4]], [None, 1]
    for value in (*wrong, {}):
        either = (*BAD, AttributeError)
        complaints.refused(f"{value!r}", lambda value=value: env.set_attr("gravity", value), either, "gravity")
    complaints.each(wrong, lambda value: env.set_params(gravity=value), "gravity")
    scales = nan, float("inf"), "x", 1j, None.__class__, [1.0]
    complaints.each(scales, lambda scale: make("CartPole-v1", 2, reward_scale=scale), "reward_scale")
    clips = (nan, 1), (1, 0), (None, None), (0,), 3, "ab", (1j, 2), ([0], 1)
    complaints.each(clips, lambda bounds: make("CartPole-v1", 2, clip_reward=bounds), "clip_reward")
    complaints.each((nan, -1, "x", [1], 1j, object()), env.recv, "timeout")
    complaints.tell()
    same(future(env), future(twin))


@attack()
def bounds_of_rescaled_observations():
    complaints = Complaints()
    wrong = [(float("nan"), 1.0), (1.0, 0.0), (np.zeros(3), np.ones(3)), (None, None), (0,), 5]
    wrong += [(0, high) for high in (float("nan"), "x", HUGE, 1j)]
    complaints.each(wrong, lambda bounds: make("Catch-v0", 2, rescale_observation=bounds), "rescale_observation")
    complaints.tell()


@attack(needs=("ale",))
def bounds_of_rescaled_pictures():
    complaints = Complaints()
    wrong = (-5.0, 5.0), (0.5, 7.5), (-1, 1), (0, 256), (0, 1e10), (float("nan"), 3), (0, float("inf"))
    complaints.each(wrong, lambda bounds: make("Pong-v5", 1, rescale_observation=bounds), "rescale_observation")
    complaints.tell()


@attack()
def closing_inside_of_a_call():
    complaints = Complaints()

    class Closes:
        def __init__(self, env, value):
            self.env, self.value = env, value

        def __array__(self, dtype=None, copy=None):
            self.env.close()
            return np.array(self.value, dtype)

        def __index__(self):
            self.env.close()
            return 1

        def __float__(self):
            self.env.close()
            return 1.0

    calls = {
        "step": lambda env: env.step(Closes(env, [0, 0])),
        "rollout": lambda env: env.rollout(Closes(env, [[0, 0]])),
        "send": lambda env: env.send(Closes(env, [0, 0]), [0, 1]),
        "send, ids": lambda env: env.send([0, 0], Closes(env, [0, 1])),
        "reset, seed": lambda env: env.reset(seed=Closes(env, 1)),
        "reset, seeds": lambda env: env.reset(seed=[Closes(env, 1), 2]),
        "reset, options": lambda env: env.reset(options={"low": Closes(env, 1), "high": 1}),
        "rollout, steps": lambda env: env.rollout(Closes(env, 1), policy="random"),
        "rollout, seed": lambda env: env.rollout(2, policy="random", seed=Closes(env, 1)),
        "set_params": lambda env: env.set_params(gravity=Closes(env, 1.0)),
        "set_params, lanes": lambda env: env.set_params(gravity=2.0, lanes=Closes(env, [0])),
        "set_attr": lambda env: env.set_attr("gravity", Closes(env, 1.0)),
        "snapshot": lambda env: env.snapshot(Closes(env, [0])),
        "restore": lambda env: env.restore(env._kept_snapshot, Closes(env, [0, 1])),
        "recv": lambda env: env.recv(Closes(env, 1.0)),
    }
    for what, call in calls.items():
        env = begun(make("CartPole-v1", 2))
        env._kept_snapshot = env.snapshot()
        with complaints.about(what):
            try:
                call(env)
            except Exception as error:
                assert not isinstance(error, AttributeError) and "NoneType" not in str(error), repr(error)
            if env.closed:
                clear(lambda env=env: env.step([0, 0]), Exception, "closed")
            else:
                env.step([0, 0])
    complaints.tell()


@attack(needs=("mujoco",))
def models_that_are_none():
    complaints = Complaints()
    for xml in ("<mujoco model='\ud800'/>", 5, None, b"<mujoco/>", [], 1.5, "<mujoco", "", "\0", "/nowhere/x.xml", "."):
        complaints.refused(f"{xml!r}", lambda xml=xml: batchenv.make_mujoco(xml, 2), (*BAD, OSError), "xml")
    complaints.tell()


@attack(needs=("mujoco",))
def masses_that_are_none():
    complaints = Complaints()
    env, twin = (begun(make("Hopper-v5", 2)) for _ in range(2))
    masses = np.array(env.get_attr("model")[0].body_mass)
    values = [0.0, -1.0, 0 * masses, -masses, np.where(np.arange(len(masses)) == 2, 0, masses)]
    values += [masses * 1j, masses + 0j, np.full(len(masses), np.nan), np.full(len(masses), np.inf)]
    values += [[None] * len(masses), masses[:2]]
    complaints.each(values, lambda value: env.set_params(body_mass=value), "body_mass")
    for name in ("body_inertia", "gravity", "geom_friction", "dof_armature"):
        present = np.array(getattr(env.get_attr("model")[0], name, np.zeros(3)))
        wrong = present * 1j, np.full(present.shape, np.nan), "x", None
        complaints.each(wrong, lambda value, name=name: env.set_params(**{name: value}), name)
    negative = -np.ones((len(masses), 3))
    complaints.each([negative], lambda value: env.set_params(body_inertia=value), "body_inertia")
    complaints.tell()
    same(future(env), future(twin))


@attack(needs=("mujoco",))
def masses_of_some_lanes():
    env, twin = (begun(make("Hopper-v5", 3)) for _ in range(2))
    masses = np.tile(env.get_attr("model")[0].body_mass, (3, 1))
    masses[2] = 0
    clear(lambda: env.set_params(body_mass=masses), ValueError, "body_mass", "lane 2")
    same(future(env), future(twin))


@attack(needs=("procgen",))
def options_of_procgen():
    """Values of every kind for every option: refused, or good for an episode. The library would end the process."""
    complaints = Complaints()
    env = make("procgen-maze-v0", 3, distribution_mode="easy")
    env.reset(seed=0)
    values = (-1, 0, 1, 2, 7, 2**31 - 1, 2**31, 2**63, 10**30, -0.0, 0.5, 1e300, float("nan"), float("inf"), True)
    values += (
        None,
        "",
        "easy",
        "maze",
        b"maze",
        "\0",
        "x" * 5000,
        [],
        [0],
        [0, 1, 2],
        {},
        np.zeros(3),
        np.zeros((3, 2)),
    )
    values += (["easy", "hard", "memory"], ["maze", "heist", "no game"], np.array([1, 1, 2**40]), object(), 1j)
    for name in env.get_params():
        for value in values:
            note(f"{name}={value!r:.60}")
            with complaints.about(f"{name}={value!r:.60}"):
                before = env.get_params()
                try:
                    env.set_params(**{name: value})
                except (ValueError, TypeError) as error:
                    assert name in str(error) or name == "channel_first", error
                    continue
                env.reset()
                for _ in range(3):
                    env.step(zeros(env))
                env.set_params(**{key: kept for key, kept in before.items() if key != "channel_first"})
    complaints.tell()


@attack(needs=("procgen",))
def levels_of_procgen():
    """The first and last levels there are, of every game and mode."""
    from batchenv.envs.procgen.games import MODES

    for game, modes in MODES.items():
        for mode in ("easy", "hard", *modes):
            for levels in ((1, 0), (1, 2**31 - 2), (2**31 - 1, 0), (2, 2**31 - 3), (0, 2**31 - 1)):
                note(f"{game}, {mode}, {levels}")
                count, first = levels if mode != "exploration" else (0, 0)
                env = make(f"procgen-{game}-v0", 2, distribution_mode=mode, num_levels=count, start_level=first)
                env.reset(seed=0)
                env.rollout(zeros(env, steps=3))
                env.reset()


@attack(needs=("linux",))
def a_working_directory_that_is_gone():
    os.makedirs("gone")
    os.chdir("gone")
    os.rmdir("../gone")
    import batchenv as again

    env = begun(again.make("CartPole-v1", 3))
    env.step(zeros(env))


@attack(needs=("mujoco", "linux"))
def mujoco_in_a_working_directory_that_is_gone():
    os.makedirs("gone")
    os.chdir("gone")
    os.rmdir("../gone")
    sys.path.insert(0, "")  # as in an interactive session
    try:
        env = begun(make("Hopper-v5", 3))
        env.step(zeros(env))
    except Exception as error:
        assert "directory" in str(error) and "pip install" not in str(error), repr(error)


@attack(needs=("mujoco",))
def unstable_hoppers_print_nothing():
    env = begun(make("Hopper-v5", 3, frame_skip=1))
    env.set_params(gravity=[0, 0, -1e12])
    for _ in range(30):
        try:
            env.step(zeros(env))
        except batchenv.LaneError as error:
            assert len(error.env_id) and error.result is not None


@attack()
def threads_of_odd_numbers():
    complaints = Complaints()
    for name, values in {
        "num_threads": (0, -1, 1025, 1.5, "2", True, [2], np.float64(2)),
        "thread_affinity": ([], [10**6], [-1], ["0"], -1, 1.5, "0", {0}, [None], [0.5]),
    }.items():
        complaints.each(values, lambda value, name=name: batchenv.make("CartPole-v1", 2, **{name: value}), name)
    complaints.tell()


@attack()
def names_that_are_wrong():
    complaints = Complaints()
    for name in ("num_thread", "numthreads", "autoreset", "framestack", "gravitiy"):
        complaints.refused(name, lambda name=name: batchenv.make("CartPole-v1", 2, **{name: 1}), TypeError, name)
    for name in ("cartpole", "CartPole", "CartPole-v9", "", "\0", "Pong", 5, None, b"CartPole-v1", "x" * 10_000):
        complaints.refused(f"make({name!r:.40})", lambda name=name: batchenv.make(name, 2), Exception)
    complaints.tell()


@attack()
def masks_and_lanes():
    complaints = Complaints()
    env, twin = (begun(slow(0.0, lanes=3)) for _ in range(2))
    masks = [True] * 3, np.ones(2, bool), np.ones((3, 1), bool), np.ones(3), np.zeros(3, bool), None, 1, "x"
    complaints.each(masks, lambda mask: env.reset(options={"reset_mask": mask}), "reset_mask")
    wrong = 3, -4, [0, 3], [True, False, 1], 1.0, "0", [[0]], np.ones(2, bool), [0.5], {0}, [None], object()
    complaints.each(wrong, env.snapshot, "lane")
    complaints.each(wrong, lambda lanes: env.set_params(lanes=lanes, cost_us=0.0), "lane")
    for ids in ([3], [-1], [0, 0], [0.0], ["0"], [[0]], [], None, [None], 1.5, {0}, np.array([2**63], np.uint64)):
        complaints.refused(f"env_id={ids!r}", lambda ids=ids: env.send([0], ids), Exception, "env_id")
    complaints.tell()
    same(future(env), future(twin))


class Odd(gymnasium.Env):
    """Observations of any space, and infos that `say` makes."""

    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, space, say=dict):
        self.observation_space, self.say = space, say

    def reset(self, *, seed=None, options=None):
        return self.observation_space.sample(), self.say()

    def step(self, action):
        return self.observation_space.sample(), 1.0, False, False, self.say()


@attack()
def transforms_of_odd_observations():
    """Refused when the env is made, or results are what the space says; no worker dies."""
    complaints, box = Complaints(), gymnasium.spaces.Box
    transforms = {
        "rescale_observation": (0, 2),
        "time_aware": True,
        "observation_dtype": "float64",
        "frame_stack": 3,
        "normalize_observation": True,
        "clip_observation": (0, 1),
    }
    boxes = [box(0, 1, shape) for shape in ((0,), (3, 0, 2), (), (1, 1, 1, 1, 1, 2))]
    dicts = [gymnasium.spaces.Dict(a=box(0, 1, shape)) for shape in ((0,), (2,))]
    for space in (*boxes, box(0, 9, (2,), np.int16), gymnasium.spaces.Text(4), *dicts, gymnasium.spaces.Dict()):
        # Workers take time to start: once for each transform.
        workers_of = ("serial", "processes") if space.shape == (0,) else ("serial",)
        for (name, value), workers in itertools.product(transforms.items(), workers_of):
            with complaints.about(f"{name} of {space} with workers={workers!r}"):
                some = {name: value, "num_workers": 1, "max_episode_steps": 9}
                try:
                    env = batchenv.make_python(functools.partial(Odd, space), 2, workers=workers, **some)
                except BAD as error:
                    assert name in str(error) or name == "channel_first", error
                    continue
                for observations in (env.reset(seed=0)[0], env.step(np.array([0, 1]))[0]):
                    assert observations in env.observation_space, observations
                    if hasattr(observations, "dtype"):
                        assert observations.dtype == env.observation_space.dtype
                env.close()
    complaints.tell()


def _in_itself():
    info = {"list": [1], "deep": {"pair": (1, [2])}}
    info["self"] = info
    info["list"].append(info["list"])
    info["deep"]["pair"][1].append(info)
    return info


def _deeply():
    value = []
    for _ in range(10**5):
        value = [value]
    return {"value": value}


@attack(env={"PYTHONMALLOC": "malloc"}, needs=("no sanitizer",))
def infos_that_lie_in_themselves():
    """An error, or infos, but never the end of the process."""
    for workers, say in (("serial", _in_itself), ("threads", _in_itself), ("serial", _deeply)):
        note(f"{workers} {say.__name__}")
        env = batchenv.make_python(functools.partial(Odd, gymnasium.spaces.Discrete(2), say), 2, workers=workers)
        for call in (functools.partial(env.reset, seed=0), functools.partial(env.step, np.array([0, 1]))):
            with contextlib.suppress(batchenv.LaneError, ValueError, RecursionError):
                call()
        env.close()
