"""The Box2D environments equal Gymnasium's, which run on that library itself, bit for bit."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import batchenv
from helpers.landing import land
from helpers.parity import MODES, Case, assert_same, assert_streams_same, follow
from helpers.processes import run_python

pytest.importorskip("Box2D", reason="Gymnasium's environments need Box2D: pip install 'gymnasium[box2d]'")

bipedal_walker = pytest.importorskip("gymnasium.envs.box2d.bipedal_walker")
BipedalWalkerHeuristics = bipedal_walker.BipedalWalkerHeuristics
Tuned = pytest.importorskip("helpers.tuned").Tuned

LANES = 24
SEED = 2**33 + 11
ISAS = batchenv.build_info()["isas"]

CASES = {  # and the steps of each lane
    "LunarLander": (Case("LunarLander-v3", rewards={-100}), 150),
    "LunarLander-short": (Case("LunarLander-v3", both={"max_episode_steps": 40}), 90),
    "LunarLander-wind": (Case("LunarLander-v3", both={"enable_wind": True, "gravity": -7.3}, rewards={-100}), 150),
    "LunarLanderContinuous": (Case("LunarLanderContinuous-v3", rewards={-100}), 150),
    "LunarLander-gale": (
        Case(
            "LunarLander-v3",
            both={"continuous": True, "enable_wind": True, "wind_power": 19.5, "turbulence_power": 1.9},
            rewards={-100},
        ),
        150,
    ),
    "BipedalWalker": (Case("BipedalWalker-v3", rewards={-100}), 110),
    "BipedalWalker-short": (Case("BipedalWalker-v3", both={"max_episode_steps": 7}), 30),  # many resets of one world
    "BipedalWalkerHardcore": (Case("BipedalWalkerHardcore-v3", both={"max_episode_steps": 30}), 70),
    "LunarLander-clip": (Case("LunarLanderContinuous-v3", ours={"clip_actions": True}, beyond=1.7), 100),
}


@pytest.mark.cases(1, per="name")
@pytest.mark.parametrize("mode", MODES, ids=[mode.value for mode in MODES])
@pytest.mark.parametrize("name", CASES)
def test_trajectories(name, mode, monkeypatch):
    (case, steps), ours = CASES[name], []
    for isa in ISAS:
        monkeypatch.setenv("BATCHENV_ISA", isa)
        ours.append(case.make(LANES, mode))
    theirs = case.reference(LANES, mode)
    finished, rewards = follow(case, ours, theirs, steps, SEED)
    assert finished > 0 and rewards >= case.rewards
    for env in ours:
        assert_streams_same(env, theirs)


def test_landings(monkeypatch):
    """Contacts of every kind: impacts, sliding, coming to rest; also after a snapshot, into other lanes."""
    ours = []
    for isa in ISAS:
        monkeypatch.setenv("BATCHENV_ISA", isa)
        ours.append(batchenv.make("LunarLander-v3", LANES, autoreset_mode=AutoresetMode.SAME_STEP))
    theirs = SyncVectorEnv([lambda: gymnasium.make("LunarLander-v3")] * LANES, autoreset_mode=AutoresetMode.SAME_STEP)
    observation = theirs.reset(seed=SEED)[0]
    for env in ours:
        env.reset(seed=SEED)
    landed = 0
    for step in range(400):
        if step % 23 == 0:
            for env in ours:
                env.restore(env.snapshot())
        actions = land(observation)
        expected = theirs.step(actions)
        for env in ours:
            assert_same(env.step(actions), expected, f"step {step}")
        observation = expected[0]
        landed += int((expected[1] == 100).sum())
    assert landed > LANES / 2


def test_walks():
    """Long walks with Gymnasium's heuristic, over flat and over hard ground, where walkers fall into pits."""
    for env_id, lanes, steps in (("BipedalWalker-v3", 4, 500), ("BipedalWalkerHardcore-v3", 8, 300)):
        ours = batchenv.make(env_id, lanes, autoreset_mode=AutoresetMode.SAME_STEP)
        theirs = SyncVectorEnv([lambda env_id=env_id: gymnasium.make(env_id)] * lanes, autoreset_mode="SameStep")
        assert_same(ours.reset(seed=SEED), theirs.reset(seed=SEED), "reset")
        observation = theirs.reset(seed=SEED)[0]
        ours.reset(seed=SEED)
        minds = [BipedalWalkerHeuristics() for _ in range(lanes)]
        for step in range(steps):
            actions = [mind.step_heuristic(row) for mind, row in zip(minds, observation, strict=True)]
            actions = np.clip(actions, -1, 1).astype(np.float32)
            expected = theirs.step(actions)
            assert_same(ours.step(actions), expected, f"{env_id}, step {step}")
            observation = expected[0]
            for lane in np.flatnonzero(expected[2]):
                minds[lane] = BipedalWalkerHeuristics()


def play(env, seed, steps=150):
    rng = np.random.default_rng(1)
    return [env.reset(seed=seed)[0]] + [
        part for _ in range(steps) for part in env.step(rng.uniform(-1, 1, (env.num_envs, 4)).astype(np.float32))[:4]
    ]


def equal(a, b):
    return all(x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))


def test_worlds_go_on_unless_they_are_to_be_fresh():
    """In Gymnasium, an episode depends on those before it, since contacts of a used world come in another order."""
    first = {}
    for fresh in (False, True):
        env = batchenv.make("BipedalWalker-v3", 32, fresh_world=fresh)
        first[fresh] = play(env, 5)
        later = [play(env, 5) for _ in range(3)]
        assert all(equal(episode, first[fresh]) for episode in later) == fresh
    assert equal(first[True][:100], first[False][:100])


def test_parameters_of_lanes():
    """Lanes of different gravity and wind equal environments that were made so."""
    gravity, power = [-10.0, -2.5, -11.5, -6.0], [15.0, 3.0, 0.0, 19.0]
    ours = batchenv.make("LunarLander-v3", 4, enable_wind=True, gravity=gravity, wind_power=power)
    theirs = SyncVectorEnv(
        [
            lambda g=g, w=w: gymnasium.make("LunarLander-v3", enable_wind=True, gravity=g, wind_power=w)
            for g, w in zip(gravity, power, strict=True)
        ]
    )
    assert_same(ours.reset(seed=3), theirs.reset(seed=3), "reset")
    rng = np.random.default_rng(0)
    for step in range(120):
        actions = rng.integers(4, size=4)
        assert_same(ours.step(actions), theirs.step(actions), f"step {step}")


TUNED = {  # values of four lanes
    "LunarLander-v3": {
        "main_engine_power": [13.0, 20.0, 9.5, 0.0],
        "side_engine_power": [0.6, 0.1, 1.7, 3.0],
        "leg_spring_torque": [40.0, 3.0, 90.0, 0.0],
        "initial_random": [1000.0, 1700.0, 0.0, 350.0],
        "lander_density": [5.0, 3.3, 7.1, 12.0],
        "leg_density": [1.0, 2.3, 0.4, 3.0],
    },
    "BipedalWalker-v3": {
        "motors_torque": [80.0, 120.0, 35.5, 79.0],
        "speed_hip": [4.0, 3.3, 7.0, 4.1],
        "speed_knee": [6.0, 9.0, 2.7, 6.6],
        "friction": [2.5, 0.1, 0.0, 9.0],
        "initial_random": [5.0, 0.0, 60.0, 17.5],
        "hull_density": [5.0, 2.3, 9.0, 1.1],
        "leg_density": [1.0, 1.9, 0.3, 4.0],
    },
}


@pytest.mark.parametrize("env_id", TUNED)
def test_constants_of_lanes(env_id, monkeypatch):
    """Lanes with constants of their own equal Gymnasium with these in its module, also when some change on the way."""
    tuned, lanes = TUNED[env_id], 4
    ours = []
    for isa in ISAS:
        monkeypatch.setenv("BATCHENV_ISA", isa)
        ours.append(batchenv.make(env_id, lanes, **tuned))
    constants = [{name: values[lane] for name, values in tuned.items()} for lane in range(lanes)]
    theirs = SyncVectorEnv([lambda own=own: Tuned(env_id, own) for own in constants])
    expected = theirs.reset(seed=SEED)
    for env in ours:
        assert_same(env.reset(seed=SEED), expected, "reset")
    rng, ends = np.random.default_rng(0), 0
    for step in range(240):
        if step == 60:
            power = "main_engine_power" if env_id == "LunarLander-v3" else "motors_torque"
            for env in ours:
                env.set_params(**{power: [33.0, 7.5]}, lanes=[1, 3])
            constants[1][power], constants[3][power] = 33.0, 7.5
        if env_id == "LunarLander-v3":
            actions = rng.choice([0, 1, 2, 2, 3], size=lanes)
        else:
            actions = rng.uniform(-1, 1, (lanes, 4)).astype(np.float32)
        expected = theirs.step(actions)
        for env in ours:
            assert_same(env.step(actions), expected, f"step {step}")
        ends += int((expected[2] | expected[3]).sum())
    assert ends > 1


@pytest.mark.parametrize("env_id", TUNED)
@pytest.mark.parametrize("end", [0, 1])
def test_extreme_constants(env_id, end):
    """Whatever they are within their ranges, and whatever follows for the solver, steps go on."""
    ranges = {"density": (1e-3, 1e3), "speed": (1e-6, 1e6)}
    names = list(TUNED[env_id])
    bounds = [next((r for part, r in ranges.items() if part in name), (0, 1e6)) for name in names]
    # One of the constants of each lane is at the end of its range; in the last lane all are.
    lanes = len(names) + 1
    tuned = {name: np.full(lanes, TUNED[env_id][name][0]) for name in names}
    for lane, (name, bound) in enumerate(zip(names, bounds, strict=True)):
        tuned[name][[lane, -1]] = bound[end]
    env = batchenv.make(env_id, lanes, **tuned)
    env.reset(seed=1)
    env.action_space.seed(1)
    for _ in range(150):
        env.step(env.action_space.sample())


@pytest.mark.parametrize("env_id", ["LunarLander-v3", "BipedalWalkerHardcore-v3"])
def test_threads_of_small_stacks(env_id):
    """A step's working memory is larger than the stack of such a thread."""
    code = """
        import threading, sys, batchenv
        env = batchenv.make(sys.argv[1], 32)
        env.action_space.seed(0)
        def play():
            env.reset(seed=0)
            for _ in range(50):
                env.step(env.action_space.sample())
            print("played")
        threading.stack_size(65536)
        for _ in range(2):
            thread = threading.Thread(target=play)
            thread.start()
            thread.join()
    """
    assert run_python(code, env_id) == "played\n" * 2


@pytest.mark.parametrize("gravity", [-12, 0, -12.5, 1])
def test_gravity_must_be_in_range(gravity):
    with pytest.raises(ValueError, match="gravity"):
        batchenv.make("LunarLander-v3", 2, gravity=gravity)


def test_advice_about_the_wind():
    with pytest.warns(UserWarning, match="wind_power=25"):
        batchenv.make("LunarLander-v3", 2, wind_power=25.0).close()


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    "env_id", ["LunarLander-v3", "LunarLanderContinuous-v3", "BipedalWalker-v3", "BipedalWalkerHardcore-v3"]
)
def test_pictures(env_id, monkeypatch):
    """Gymnasium's, with the particles of the lander's exhaust, also where they meet the ground."""
    pytest.importorskip("pygame", reason="frames need pygame: pip install 'batchenv[render]'")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    ours = batchenv.make(env_id, 2, render_mode="rgb_array", autoreset_mode="SameStep")
    theirs = SyncVectorEnv([lambda: gymnasium.make(env_id, render_mode="rgb_array")] * 2, autoreset_mode="SameStep")
    observation, _ = ours.reset(seed=5)
    theirs.reset(seed=5)
    rng, seen = np.random.default_rng(2), set()
    for _ in range(130 if "Lander" in env_id else 45):
        for frame, expected in zip(ours.render(), theirs.render(), strict=True):
            np.testing.assert_array_equal(frame, expected)
            seen.add(frame.tobytes())
        if env_id == "LunarLander-v3":
            actions = land(observation)
        else:
            actions = rng.uniform(-0.5, 1, ours.action_space.shape).astype(np.float32)
        observation = ours.step(actions)[0]
        theirs.step(actions)
    assert len(seen) > 60


def test_pictures_of_steps_left_out(monkeypatch):
    """Particles of steps that nobody has drawn are not seen, but those of the last step are, for as long as usual."""
    pytest.importorskip("pygame", reason="frames need pygame: pip install 'batchenv[render]'")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    all_drawn, some_drawn = (batchenv.make("LunarLander-v3", 1, render_mode="rgb_array") for _ in range(2))
    first = [env.reset(seed=5) for env in (all_drawn, some_drawn)]
    assert_same(*first, "reset")
    equal = []
    for step in range(12):
        for env in (all_drawn, some_drawn):
            env.step([2 if step < 5 else 0])
        frame = all_drawn.render()[0]
        if step >= 4:
            equal.append(np.array_equal(frame, some_drawn.render()[0]))
    # A particle is drawn six times: those of steps 0 to 3 are gone after step 8.
    assert equal == [False] * 5 + [True] * 3
