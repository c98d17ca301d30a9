"""Steps of several frames: the lanes' own processor and picture chip, which draw only what is looked at, against the
library as it is, and both against frames that are taken one at a time in Python (helpers/atari_oracle.py).

BATCHENV_ATARI_FRAMES sets the frames per case; the default keeps the suite short.
"""

import itertools
import subprocess

import numpy as np
import pytest

pytest.importorskip("cv2", reason="needs opencv-python, which is what the pixels are compared with")

from helpers.atari import frames
from helpers.atari_oracle import Slow, make
from helpers.compiled import program

SANITIZED = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover"]
LANES = 2
GAMES = ("qbert", "seaquest", "pong", "breakout", "space_invaders", "asteroids")
SIZES = ((84, 84), (105, 80), (210, 160), (83, 97))


def options_of(case):
    """Options that are drawn at random, but so that each value of an option is as frequent as the others."""

    def one_of(name, values):
        place = np.random.default_rng([case // len(values), len(values), *name.encode()]).permutation(len(values))
        return values[place[case % len(values)]]

    height, width = one_of("size", SIZES)
    return one_of("game", GAMES), {
        "frameskip": one_of("frameskip", (4, 2, 3, 1, 5, 4, 7, 30)),
        "maxpool": one_of("maxpool", (True, True, False)),
        "obs_type": one_of("obs_type", ("grayscale", "rgb", "grayscale", "ram")),
        "stack_num": one_of("stack_num", (None, 1, 2, 4)),
        "img_height": height,
        "img_width": width,
        "episodic_life": one_of("episodic_life", (True, False)),
        "noop_max": one_of("noop_max", (30, 0)),
        "use_fire_reset": one_of("use_fire_reset", (True, False)),
        "max_num_frames_per_episode": one_of("most", (0, 55, 0, 66, 77, 0, 203, 122)),
    }


def assert_equal(result, expected, where):
    for one, other in zip(result, expected, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=where)


class Trio:
    """An env with our emulator, one with the library's, and a slow lane for each of their lanes."""

    def __init__(self, game, options):
        self.envs = [make(game, own, LANES, **options) for own in (True, False)]
        self.slow = [Slow(game, **options) for _ in range(LANES)]
        self.seed = 0

    def reset(self, mask, new_game):
        """New games by new seeds; lanes whose episode has ended with a lost life may go on in theirs."""
        for chosen, seeded in ((mask & new_game, True), (mask & ~new_game, False)):
            if not chosen.any():
                continue
            self.seed += LANES
            seed = self.seed if seeded else None
            results = [env.reset(seed=seed, options={"reset_mask": chosen.copy()})[0] for env in self.envs]
            begun = self.envs[1].state["episode_frame_number"]
            for lane in np.flatnonzero(chosen):
                expected = self.slow[lane].begin(self.seed + lane if seeded else None, begun[lane])
                for result, name in zip(results, ("ours", "library"), strict=True):
                    np.testing.assert_array_equal(result[lane], expected, err_msg=f"reset of lane {lane}: {name}")
        self.compare_machines("reset")

    def step(self, actions, where):
        """Returns which lanes have ended their episode, and in which of these the game goes on."""
        results = [env.step(actions) for env in self.envs]
        expected = [slow.step(action) for slow, action in zip(self.slow, actions, strict=True)]
        for result, name in zip(results, ("ours", "library"), strict=True):
            assert_equal(result[:4], [np.stack(column) for column in zip(*expected, strict=True)], f"{where}: {name}")
        self.compare_machines(where)
        state = self.envs[1].state
        return results[1][2] | results[1][3], state["life_lost"] & ~state["over"]

    def compare_machines(self, where):
        for env, name in zip(self.envs, ("ours", "library"), strict=True):
            state = env.state
            for lane, slow in enumerate(self.slow):
                for key, value in slow.machine().items():
                    message = f"{where}: {key} of lane {lane}: {name}"
                    np.testing.assert_array_equal(state[key][lane], value, err_msg=message)
        snapshots = [bytes(env.snapshot()) for env in self.envs]
        assert snapshots[0] == snapshots[1], f"{where}: snapshots"

    def copy(self, source, target, across):
        """Puts a lane's snapshot into another lane. across: into the other env, and the other way round."""
        snapshots = [env.snapshot(source) for env in self.envs]
        observed = [
            env.restore(snapshot, target)
            for env, snapshot in zip(self.envs, snapshots[::-1] if across else snapshots, strict=True)
        ]
        self.slow[target].put(self.slow[source])
        for observation in observed:
            np.testing.assert_array_equal(observation[target], self.slow[source].observation())


def follow(game, options, count, seed):
    """Plays so many frames; returns in which frames of a step episodes have ended."""
    trio, rng = Trio(game, options), np.random.default_rng(seed)
    trio.reset(np.ones(LANES, bool), np.ones(LANES, bool))
    ended, skip, held = set(), options["frameskip"], np.zeros(LANES, int)
    for step in range(count // skip):
        before = trio.envs[1].state["episode_frame_number"]
        if step % max(1, 6 // skip) == 0:
            held = rng.integers(trio.envs[0].single_action_space.n, size=LANES)
        done, goes_on = trio.step(held, f"{game}, {options}, step {step}")
        taken = trio.envs[1].state["episode_frame_number"] - before
        ended |= set(taken[done].tolist())
        if done.any():
            trio.reset(done, ~(goes_on & (rng.random(LANES) < 0.8)))
        if rng.random() < 0.1:
            source = rng.integers(LANES)
            trio.copy(source, (source + rng.integers(LANES)) % LANES, rng.random() < 0.5)
    return ended


@pytest.mark.cases(12)
@pytest.mark.parametrize("case", range(120))
def test_steps_equal_single_frames(case):
    follow(*options_of(case), frames(600), case)


@pytest.mark.parametrize("maxpool", [True, False])
def test_an_episode_may_be_cut_short_in_any_frame_of_a_step(maxpool):
    """The step shows its last frame alone then, though nobody expected that this frame would be looked at."""
    options = {"frameskip": 4, "maxpool": maxpool, "noop_max": 0, "use_fire_reset": False}
    for most, game in itertools.product(range(40, 44), ("qbert", "breakout")):
        follow(game, {**options, "max_num_frames_per_episode": most, "stack_num": 2}, 160, most)


@pytest.mark.parametrize("skip", [4, 30])
def test_a_life_may_be_lost_in_any_frame_of_a_step(skip):
    options = {"frameskip": skip, "episodic_life": True, "use_fire_reset": True, "noop_max": 30}
    ended = set()
    for game, count in (("breakout", 2400), ("qbert", 2400), ("seaquest", 1200)):
        ended |= follow(game, options, max(count, frames(0)), 5)
    assert len(ended) >= min(skip, 8), f"episodes have ended only in frames {sorted(ended)} of a step"


@pytest.mark.cases(1)
@pytest.mark.parametrize("game", GAMES)
def test_many_frames_equal_the_library(game):
    """Long games with the usual preprocessing, in which actions stick, without the slow lane."""
    envs = [make(game, own, 4, repeat_action_probability=0.25, noop_max=30) for own in (True, False)]
    rng, done = np.random.default_rng(3), np.ones(4, bool)
    for step in range(frames(2000) // 4):
        if done.any():
            seed = 3 if step == 0 else None
            one, other = (env.reset(seed=seed, options={"reset_mask": done.copy()}) for env in envs)
            np.testing.assert_array_equal(one[0], other[0], err_msg=f"reset before step {step}")
        actions = rng.integers(envs[0].single_action_space.n, size=4)
        one, other = (env.step(actions) for env in envs)
        assert_equal(one[:4], other[:4], f"step {step}")
        if step % 50 == 0:
            order = rng.permutation(4)
            for env in envs:
                env.restore(env.snapshot(), rows=order)
            assert bytes(envs[0].snapshot()) == bytes(envs[1].snapshot()), f"step {step}"
        done = one[2] | one[3]


@pytest.mark.parametrize("own", [True, False])
def test_state_that_is_set_is_not_taken_for_what_was_drawn(own):
    """A screen put into env.state is replaced as a whole by the next step, though few of its rows have changed."""
    one, other = (make("space_invaders", own, 1) for _ in range(2))
    for env in (one, other):
        env.reset(seed=1)
        for _ in range(20):
            env.step(np.array([0]))
    one.set_state({"screen": np.full_like(one.state["screen"], 2)})
    other.restore(other.snapshot())
    height = 210 * 160
    for step in range(5):
        results = [env.step(np.array([0])) for env in (one, other)]
        assert_equal(results[0][:4], results[1][:4], f"step {step}")
        screens = [env.state["screen"][:, :height] for env in (one, other)]
        np.testing.assert_array_equal(*screens, err_msg=f"screen after step {step}")


@pytest.mark.parametrize("flags", [["-O2"], pytest.param(SANITIZED, marks=pytest.mark.long)], ids=str)
def test_stacks_made_from_what_has_changed_equal_whole_ones(flags, tmp_path):
    """With an emulator that tells more of what has changed than ours does (tests/c/test_stacks.c)."""
    names = "engines/atari/stacks", "engines/atari/pixel", "engines/atari/pixel_plan", "core/error"
    sources = [f"csrc/{name}.c" for name in names]
    tester = program(tmp_path, [*flags, "-DBE_ISA=BE_ISA_BASELINE"], "tests/c/test_stacks.c", *sources)
    ran = subprocess.run([str(tester)], capture_output=True, text=True, timeout=240)
    assert ran.returncode == 0, ran.stdout + ran.stderr
