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


@pytest.mark.parametrize(
    ("env_id", "idle"),
    [("LunarLander-v3", 0), ("BipedalWalker-v3", (0.9, -0.4, 0.3, 0.8)), ("BipedalWalkerHardcore-v3", (0.5, 0, 1, 1))],
)
def test_pictures(env_id, idle, monkeypatch):
    """Gymnasium's, but for the particles of the lander's exhaust: its engines stay off here."""
    pytest.importorskip("pygame", reason="frames need pygame: pip install 'batchenv[render]'")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    ours = batchenv.make(env_id, 2, render_mode="rgb_array")
    theirs = [gymnasium.make(env_id, render_mode="rgb_array").unwrapped for _ in range(2)]
    ours.reset(seed=5)
    for lane, env in enumerate(theirs):
        env.reset(seed=5 + lane)
    action = np.asarray(idle, ours.single_action_space.dtype)
    seen = set()
    for _ in range(40):
        for frame, env in zip(ours.render(), theirs, strict=True):
            np.testing.assert_array_equal(frame, env.render())
            seen.add(frame.tobytes())
        ours.step(np.stack([action, action]))
        for env in theirs:
            env.step(action)
    assert len(seen) > 60
