"""batchenv.integrations.ray: fragments are what lanes of one env do, whatever becomes of the actors."""

import os
import sys
import time

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array

import batchenv
from helpers.awkward import ALIKE, makers, same
from helpers.processes import run_python

ray = pytest.importorskip("ray", reason="needs ray: pip install 'batchenv[ray]'")

from batchenv.integrations.fragments import FragmentMaker, rows_of  # noqa: E402
from batchenv.integrations.ray import RaySampler  # noqa: E402

LANES = 4
STEPS = 24
PATIENCE = 300  # seconds: a busy machine takes long to start an actor


@pytest.fixture(scope="module", autouse=True)
def cluster():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    where = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}  # actors import this module, too
    ray.init(
        "local", num_cpus=2, object_store_memory=200 * 2**20, include_dashboard=False, logging_level="ERROR",
        log_to_driver=False, runtime_env={"env_vars": where},
    )  # fmt: skip
    yield
    ray.shutdown()


def lean(weights, observations, rng):
    """A policy without chance: a pole is held up for some steps."""
    angles = observations[:, 2] + 0.2 * observations[:, 3]
    more = {"angles": angles, "age": np.full(len(angles), weights["age"])}
    return (angles > weights["threshold"]).astype(np.int64), more


def dice(weights, observations, rng):
    return rng.integers(0, 2, LANES)


WEIGHTS = {"threshold": np.float32(0), "age": 0}


def sampler(policy=lean, *, env="CartPole-v1", actors=1, steps=STEPS, seed=5, **options):
    options.setdefault("num_cpus", 0.5)
    options.setdefault("weights", WEIGHTS)
    options.setdefault("autoreset_mode", "SameStep")
    return RaySampler(env, LANES, actors, steps, policy=policy, seed=seed, max_episode_steps=20, **options)


def expected(policy, lanes, steps, *, mode="SameStep", env_id="CartPole-v1", seed=5):
    """What lanes of one env do: observations, rewards, terminations, truncations and ends."""
    env = batchenv.make(env_id, lanes, autoreset_mode=mode, max_episode_steps=20)
    observations = [env.reset(seed=seed)[0]]
    rows, ends = [], []
    for t in range(steps):
        actions = policy(WEIGHTS, observations[-1], None)[0]
        observation, *results, infos = env.step(actions)
        observations.append(observation)
        rows.append((actions, *results))
        if mode == "SameStep":
            ends += [(t, lane, row) for lane, row in zip(*infos.final_rows, strict=True)]
    return np.array(observations), *map(np.array, zip(*rows, strict=True)), ends


def by_actor(sampler, count):
    """`count` fragments of each actor, in their order."""
    found = {}
    while len(found) < len(sampler._places) or min(map(len, found.values())) < count:
        fragment = sampler.take(PATIENCE)
        found.setdefault(fragment.actor, []).append(fragment)
    return [found[k][:count] for k in sorted(found)]


def joined(fragments, name):
    return np.concatenate([getattr(fragment, name) for fragment in fragments])


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_actors_do_what_lanes_of_one_env_do(mode):
    with sampler(actors=2, autoreset_mode=mode) as actors:
        got = by_actor(actors, 2)
    observations, *rest, ends = expected(lean, 2 * LANES, 2 * STEPS, mode=mode)
    assert rest[3].any()  # episodes reached the time limit
    for k, fragments in enumerate(got):
        mine = slice(k * LANES, (k + 1) * LANES)
        assert [f.number for f in fragments] == [0, 1]
        for f in fragments:
            np.testing.assert_array_equal(f.observations, observations[f.number * STEPS :][: STEPS + 1, mine])
            assert f.observations.shape == (STEPS + 1, LANES, 4)
        for name, want in zip(("actions", "rewards", "terminations", "truncations"), rest, strict=True):
            found = joined(fragments, name)
            assert found.dtype == want.dtype
            np.testing.assert_array_equal(found, want[:, mine])
        angles = np.concatenate([f.extras["angles"] for f in fragments])
        np.testing.assert_array_equal(angles, observations[:-1, mine, 2] + 0.2 * observations[:-1, mine, 3])
        if mode == "NextStep":
            assert all(f.final_rows is None for f in fragments)
            continue
        found = [
            (f.number * STEPS + t, k * LANES + lane, row.tolist())
            for f in fragments
            for t, lane, row in zip(*f.final_rows, strict=True)
        ]
        assert found == [(t, lane, row.tolist()) for t, lane, row in ends if lane // LANES == k]


def test_random_actions_are_those_that_make_these_observations():
    with sampler(None, weights=None) as actors:
        first, second = actors.take(PATIENCE), actors.take(PATIENCE)
    np.testing.assert_array_equal(first.observations[-1], second.observations[0])
    assert not np.array_equal(first.actions, second.actions)
    env = batchenv.make("CartPole-v1", LANES, autoreset_mode="SameStep", max_episode_steps=20)
    env.reset(seed=5)
    for fragment in (first, second):
        done = env.rollout(fragment.actions)
        np.testing.assert_array_equal(fragment.observations[1:], done.observations)
        np.testing.assert_array_equal(fragment.truncations, done.truncations)
        steps, lanes, rows = fragment.final_rows
        np.testing.assert_array_equal(rows, done.infos["final_obs"][steps, lanes])
        assert len(steps) == done.infos["_final_obs"].sum() > 0


@pytest.mark.parametrize("policy", [None, dice])
def test_observations_of_several_parts(policy):
    with sampler(policy, env="Blackjack-v1", steps=8) as actors:
        first, second = actors.take(PATIENCE), actors.take(PATIENCE)
    env = batchenv.make("Blackjack-v1", LANES, autoreset_mode="SameStep", max_episode_steps=20)
    seen = [env.reset(seed=5)[0]]
    for fragment in (first, second):
        done = env.rollout(fragment.actions)
        steps, lanes, rows = fragment.final_rows
        assert len(steps)
        for part in range(3):
            np.testing.assert_array_equal(fragment.observations[part][0], seen[-1][part])
            np.testing.assert_array_equal(fragment.observations[part][1:], done.observations[part])
            np.testing.assert_array_equal(rows[part], done.infos["final_obs"][part][steps, lanes])
        seen.append(tuple(part[-1] for part in done.observations))


@pytest.mark.parametrize("workers", ["serial", "processes"])
@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], ids=str)
@pytest.mark.parametrize("policy", [None, lambda weights, seen, rng: rng.integers(3, size=4)], ids=["random", "policy"])
def test_an_awkward_env(workers, parts, mode, policy):
    """Fragments are what Gymnasium's lanes do. They have no infos, so that what the envs say need not fit together."""
    lanes = makers(parts=parts)
    make = lambda: batchenv.make_python(lanes, workers=workers, num_workers=2, autoreset_mode=mode)  # noqa: E731
    maker = FragmentMaker(make, policy, 7, 5, 0)
    theirs = SyncVectorEnv(makers(parts=parts, reuses=False, says=ALIKE), autoreset_mode=mode)
    last = theirs.reset(seed=5)[0]
    ended = 0
    for number in range(3):
        got, found = maker.fragment(number, 0, None), []
        same(rows_of(got.observations, 0), last)
        for t, actions in enumerate(got.actions):
            last, rewards, terminations, truncations, infos = theirs.step(actions)
            same(rows_of(got.observations, t + 1), last)
            same((got.rewards[t], got.terminations[t], got.truncations[t]), (rewards, terminations, truncations))
            found += [(t, lane, infos["final_obs"][lane]) for lane in np.flatnonzero(infos.get("_final_obs", ()))]
        ended += (got.terminations | got.truncations).sum()
        if mode is AutoresetMode.NEXT_STEP:
            assert got.final_rows is None
            continue
        steps, lanes, finals = zip(*found, strict=True)
        space = theirs.single_observation_space
        finals = concatenate(space, finals, create_empty_array(space, len(finals)))
        same(got.final_rows, (np.array(steps), np.array(lanes), finals))
    assert ended > 10
    maker.env.close()
    theirs.close()


def test_arrays_lie_in_the_object_store_and_stay():
    with sampler(None, env="CartPole-v1", steps=2000) as actors:
        first = actors.take(PATIENCE)
        before = first.observations.copy()
        assert not first.observations.flags.writeable and not first.observations.flags.owndata
        for _ in range(3):
            actors.take(PATIENCE)
    np.testing.assert_array_equal(first.observations, before)


def test_weights_arrive_and_their_staleness_is_told():
    with sampler(in_flight=2) as actors:
        seen = []
        for age in range(1, 5):
            fragment = actors.take(PATIENCE)
            seen.append((fragment.version, fragment.staleness, set(fragment.extras["age"].ravel().tolist())))
            assert actors.push({**WEIGHTS, "age": age}) == age
    # Two fragments had been asked for at first; then each was asked for before the next push.
    assert seen == [(0, 0, {0}), (0, 1, {0}), (0, 2, {0}), (1, 2, {1})]


def test_no_more_than_in_flight_are_made_ahead(tmp_path):
    made = tmp_path / "made"

    def counted(weights, observations, rng):
        with open(made, "a") as file:
            file.write("x")
        return dice(weights, observations, rng)

    with sampler(counted, steps=1, in_flight=3) as actors:
        actors.take(PATIENCE)
        wait_until(lambda: len(made.read_text()) >= 4)
        time.sleep(0.5)
        assert len(made.read_text()) == 4  # one that was taken, three that wait


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Mortal:
    """A policy that ends its process in its step `when`, after `allow`: once, or always."""

    def __init__(self, folder, when, always=False):
        self.allowed, self.dead = folder / "allowed", folder / "dead"
        self.when, self.always, self.steps = when, always, 0

    def allow(self):
        self.allowed.touch()

    def __call__(self, weights, observations, rng):
        if self.steps == self.when and (self.always or not self.dead.exists()):
            wait_until(self.allowed.exists)
            self.dead.touch()
            os._exit(1)
        self.steps += 1
        return dice(weights, observations, rng)


@pytest.mark.parametrize("when", [3, STEPS + 7, 3 * STEPS - 1])
def test_nothing_is_lost_or_changed_when_an_actor_dies(tmp_path, when):
    with sampler(dice) as actors:
        want = [actors.take(PATIENCE) for _ in range(4)]
        assert not actors.losses
    mortal = Mortal(tmp_path, when)
    with sampler(mortal) as actors:
        got = [actors.take(PATIENCE) for _ in range(when // STEPS)]
        mortal.allow()
        with pytest.warns(UserWarning, match="actor 0 died before its"):
            got += [actors.take(PATIENCE) for _ in range(4 - len(got))]
        (loss,) = actors.losses
    assert (loss.actor, loss.number) == (0, when // STEPS)
    assert [f.tries for f in got] == [2 if k == loss.number else 1 for k in range(4)]
    for name in ("observations", "actions", "rewards", "terminations", "truncations"):
        np.testing.assert_array_equal(joined(got, name), joined(want, name))


def test_an_actor_that_is_killed_between_fragments():
    with sampler(dice) as actors:
        want = joined([actors.take(PATIENCE) for _ in range(4)], "observations")
    with sampler(dice) as actors, pytest.warns(UserWarning, match="go on from their last snapshot"):
        got = [actors.take(PATIENCE)]
        ray.kill(actors._places[0].actor)
        got += [actors.take(PATIENCE)]
        while not actors.losses:  # what was ready before it died is not lost
            got += [actors.take(PATIENCE)]
        got += [actors.take(PATIENCE) for _ in range(4 - len(got))]
    np.testing.assert_array_equal(joined(got[:4], "observations"), want)


def test_without_snapshots_lanes_are_reset(tmp_path):
    mortal = Mortal(tmp_path, STEPS + 1)
    with sampler(mortal, snapshots=False) as actors:
        first = actors.take(PATIENCE)
        mortal.allow()
        with pytest.warns(UserWarning, match="its lanes are reset"):
            second = actors.take(PATIENCE)
    assert second.tries == 2
    assert (np.abs(second.observations[0]) < 0.05).all()  # where episodes of CartPole begin
    assert not np.array_equal(second.observations[0], first.observations[0])


def test_dying_again_and_again_is_an_error(tmp_path):
    mortal = Mortal(tmp_path, 2, always=True)
    mortal.allow()
    with sampler(mortal, in_flight=1) as actors, pytest.warns(UserWarning):
        with pytest.raises(RuntimeError, match="4 actors died over fragment 0 of actor 0"):
            actors.take(PATIENCE)
        assert len(actors.losses) == 4


def test_exceptions_in_actors_are_raised_as_they_are(tmp_path):
    flag = tmp_path / "raised"

    def fails_once(weights, observations, rng):
        if not flag.exists() and weights == "bad":
            flag.touch()
            raise KeyError("no such head")
        return dice(weights, observations, rng)

    with sampler(fails_once, weights="bad") as actors:
        with pytest.raises(KeyError, match="no such head"):
            actors.take(PATIENCE)
        got = [actors.take(PATIENCE) for _ in range(2)]
        assert not actors.losses
    with sampler(dice, weights="bad") as actors:
        want = [actors.take(PATIENCE) for _ in range(2)]
    np.testing.assert_array_equal(joined(got, "actions"), joined(want, "actions"))
    with sampler(env="CartPole-v9") as actors, pytest.raises(ValueError, match="no environment 'CartPole-v9'"):
        actors.take(PATIENCE)
    with sampler(autoreset_mode="Disabled") as actors, pytest.raises(ValueError, match="fragments need autoreset"):
        actors.take(PATIENCE)


def test_timeouts_lose_nothing():
    def slow(weights, observations, rng):
        time.sleep(0.1)
        return dice(weights, observations, rng)

    with sampler(slow, steps=10) as actors:
        with pytest.raises(TimeoutError, match=r"no fragment was ready within timeout=0.01 seconds"):
            actors.take(0.01)
        assert actors.take(PATIENCE).number == 0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"actors": 0}, ValueError, "actors=0 must be at least 1"),
        ({"steps": 2.5}, TypeError, "steps=2.5 must be an int"),
        ({"in_flight": 0}, ValueError, "in_flight=0 must be at least 1"),
        ({"policy": 7}, TypeError, "policy=7 must be a callable"),
        ({"seed": -1}, ValueError, "seed=-1 must be at least 0"),
    ],
)
def test_wrong_arguments(options, error, message):
    with pytest.raises(error, match=message):
        sampler(**options)


def test_closed():
    actors = sampler()
    actors.close()
    actors.close()
    for use in (actors.take, lambda: actors.push(1), lambda: next(iter(actors))):
        with pytest.raises(RuntimeError, match="this RaySampler is closed"):
            use()


def test_without_ray():
    output = run_python(
        "import sys; sys.modules['ray'] = None\n"
        "try: import batchenv.integrations.ray\n"
        "except ImportError as error: print(error)"
    )
    assert "pip install 'batchenv[ray]'" in output
