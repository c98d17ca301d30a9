"""Lanes in flight: every lane's trajectory is that of the sync env, whoever steps it and when; misuse is refused."""

import asyncio
import copy
import gc
import os
import pickle
import re
import selectors
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from gymnasium.error import AlreadyPendingCallError, ClosedEnvironmentError, NoAsyncCallError, ResetNeeded

import batchenv

ALL = {
    "record_episode_statistics": True,
    "frame_stack": 2,
    "time_aware": True,
    "reward_scale": 0.5,
    "action_repeat": 2,
}


def action_for(env, lane, t):
    """Depends on the lane and its own step count alone."""
    space = env.single_action_space
    rng = np.random.default_rng([int(lane), int(t)])
    if hasattr(space, "n"):
        return rng.integers(space.n)
    return rng.uniform(space.low, space.high).astype(np.float32)


def sync_histories(env_id, lanes, steps, seed, **options):
    """Per lane: its observation, reward and flags of every step."""
    env = batchenv.make(env_id, lanes, **options)
    histories = [[(row.copy(), 0.0, False, False)] for row in env.reset(seed=seed)[0]]
    finals = [[] for _ in range(lanes)]
    for t in range(steps):
        actions = np.stack([action_for(env, lane, t) for lane in range(lanes)])
        obs, rew, term, trunc, info = env.step(actions)
        for lane in range(lanes):
            histories[lane].append((obs[lane].copy(), rew[lane], term[lane], trunc[lane]))
        collect(finals, np.arange(lanes), info)
    env.close()
    return histories, finals


def collect(finals, ids, info):
    """Appends what a batch says of finished episodes, in terms of lanes."""
    for k, lane in enumerate(ids):
        if "_final_obs" in info and info["_final_obs"][k]:
            finals[lane].append(np.array(info["final_obs"][k]))
        if "_episode" in info and info["_episode"][k]:
            finals[lane].append((info["episode"]["r"][k], info["episode"]["l"][k]))


def async_histories(env_id, lanes, steps, seed, **options):
    env = batchenv.make(env_id, lanes, **options)
    env.async_reset(seed=seed)
    histories = [[] for _ in range(lanes)]
    finals = [[] for _ in range(lanes)]
    unfinished = lanes
    while unfinished:
        waiting = env._backend.core.in_flight()
        if waiting < env.batch_size:  # the last lanes: give idle ones something to do
            done = [lane for lane in range(lanes) if len(histories[lane]) > steps][: env.batch_size - waiting]
            env.send(np.stack([action_for(env, lane, 0) for lane in done]), done)
        obs, rew, term, trunc, info = env.recv(timeout=30)
        ids = info["env_id"]
        assert len(ids) == len(obs) == len(rew) == env.batch_size and len(set(ids)) == len(ids)
        again = []
        for k, lane in enumerate(ids):
            if len(histories[lane]) > steps:
                continue
            histories[lane].append((obs[k].copy(), rew[k], term[k], trunc[k]))
            one = {
                key: value[k : k + 1] for key, value in info.items() if key in ("_final_obs", "final_obs", "_episode")
            }
            if "episode" in info:
                one["episode"] = {key: value[k : k + 1] for key, value in info["episode"].items()}
            collect(finals, [lane], one)
            if len(histories[lane]) <= steps:
                again.append(lane)
            else:
                unfinished -= 1
        if again:
            env.send(np.stack([action_for(env, lane, len(histories[lane]) - 1) for lane in again]), again)
    env.close()
    return histories, finals


def assert_equal_histories(ours, expected):
    for lane, (a, b) in enumerate(zip(ours[0], expected[0], strict=True)):
        assert len(a) == len(b)
        for t, (x, y) in enumerate(zip(a, b, strict=True)):
            np.testing.assert_array_equal(x[0], y[0], err_msg=f"lane {lane} step {t}")
            assert x[1:] == y[1:], (lane, t)
    for a, b in zip(ours[1], expected[1], strict=True):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("transforms", [{}, ALL], ids=["plain", "transforms"])
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "Acrobot-v1", "Synthetic-v0"])
def test_trajectories_are_those_of_the_sync_env(env_id, transforms, mode):
    options = {"max_episode_steps": 23, "autoreset_mode": mode, **transforms}
    if env_id == "Synthetic-v0":
        options |= {"cost_us": 20.0, "tail_probability": 0.1}
    expected = sync_histories(env_id, 20, 40, 7, **options)
    assert any(expected[1]) == (mode == "SameStep" or bool(transforms))
    for batch_size, threads in ((1, 2), (7, 1), (7, 3), (20, 2)):
        ours = async_histories(env_id, 20, 40, 7, batch_size=batch_size, num_threads=threads, **options)
        assert_equal_histories(ours, expected)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1", "Blackjack-v1"])
def test_whole_blocks_and_scattered_lanes(env_id):
    """Lanes that lie side by side are stepped in place, others are gathered: both the same as the sync env."""
    lanes = 700
    ours = batchenv.make(env_id, lanes, batch_size=350, num_threads=2)
    sync = batchenv.make(env_id, lanes)
    ours.reset(seed=1), sync.reset(seed=1)
    rng = np.random.default_rng(0)
    for round in range(12):
        actions = rng.integers(ours.single_action_space.n, size=lanes)
        expected = sync.step(actions)
        order = np.arange(lanes) if round % 2 else rng.permutation(lanes)
        ours.send(actions[order[:350]], order[:350])
        ours.send(actions[order[350:]], order[350:])
        seen = []
        for _ in range(2):
            result = ours.recv()
            ids = result[4]["env_id"]
            seen.extend(ids)
            for a, b in zip(result[:4], expected[:4], strict=True):
                if isinstance(a, tuple):
                    for x, y in zip(a, b, strict=True):
                        np.testing.assert_array_equal(x, y[ids])
                else:
                    np.testing.assert_array_equal(a, b[ids])
            for key in result[4].keys() - {"env_id"}:
                np.testing.assert_array_equal(result[4][key], expected[4][key][ids])
        assert sorted(seen) == list(range(lanes))


def test_params_by_lane():
    lanes, gravity = 300, np.linspace(5.0, 15.0, 300)
    ours = batchenv.make("CartPole-v1", lanes, batch_size=100, gravity=gravity)
    sync = batchenv.make("CartPole-v1", lanes, gravity=gravity)
    ours.reset(seed=1), sync.reset(seed=1)
    rng = np.random.default_rng(0)
    for t in range(10):
        if t == 5:
            for env in (ours, sync):
                env.set_params(length=0.3 + gravity / 50, lanes=gravity > 7)
        actions = rng.integers(2, size=lanes)
        expected = sync.step(actions)[0]
        order = rng.permutation(lanes)
        ours.send(actions[order], order)
        for _ in range(3):
            rows, *_, info = ours.recv()
            np.testing.assert_array_equal(rows, expected[info["env_id"]])


def test_envpools_loop_runs_unchanged():
    num_envs, batch_size = 64, 16
    env = batchenv.make("CartPole-v1", env_type="gymnasium", num_envs=num_envs, batch_size=batch_size, num_threads=2)
    action_num = env.action_space.n
    env.async_reset()
    steps = np.zeros(num_envs, int)
    for _ in range(100):
        obs, _rew, _term, _trunc, info = env.recv()
        env_id = info["env_id"]
        assert obs.shape == (batch_size, 4)
        steps[env_id] += 1
        action = np.random.randint(action_num, size=batch_size)
        env.send(action, env_id)
    assert steps.sum() == 1600 and env.is_async
    env_id = env.recv()[4]["env_id"]
    assert len(env.step(np.zeros(16, int), env_id)[4]["env_id"]) == batch_size


def test_a_slow_lane_delays_nobody():
    slow = np.full(8, 100.0)
    slow[3] = 2e6
    env = batchenv.make("Synthetic-v0", 8, batch_size=1, num_threads=2, cost_us=slow, wait=True, end_probability=0.0)
    env.reset(seed=0)
    env.send(np.zeros(8, int), np.arange(8))
    start = time.perf_counter()
    first = [int(env.recv()[4]["env_id"][0]) for _ in range(7)]
    assert sorted(first) == [0, 1, 2, 4, 5, 6, 7]
    assert time.perf_counter() - start < 1.5, "only when the slow lane came"
    assert env.recv()[4]["env_id"][0] == 3


def test_step_async_is_step():
    ours, sync = (batchenv.make("CartPole-v1", 50, autoreset_mode="SameStep") for _ in range(2))
    ours.reset(seed=1), sync.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(60):
        actions = rng.integers(2, size=50)
        ours.step_async(actions)
        result, expected = ours.step_wait(), sync.step(actions)
        for a, b in zip(result[:4], expected[:4], strict=True):
            np.testing.assert_array_equal(a, b)
        assert result[4].keys() == expected[4].keys()
    with pytest.raises(NoAsyncCallError, match="step_async"):
        ours.step_wait()
    ours.step_async(actions)
    with pytest.raises(AlreadyPendingCallError, match="step_wait"):
        ours.step_async(actions)
    with pytest.raises(RuntimeError, match="in flight"):
        ours.step(actions)
    ours.step_wait()
    ours.step(actions)
    ours.step_async(actions)
    ours.recv()  # takes what step_wait would
    ours.send([0], [7])
    with pytest.raises(NoAsyncCallError, match="step_async"):
        ours.step_wait()
    ours.reset(seed=1)
    ours.step_async(actions)
    ours.step_wait()
    with pytest.raises(RuntimeError, match="batch_size=2"):
        batchenv.make("CartPole-v1", 4, batch_size=2).step_async(actions)


def ready(lanes=6, **options):
    env = batchenv.make("CartPole-v1", lanes, **{"batch_size": 2, "num_threads": 1, **options})
    env.reset(seed=0)
    return env


@pytest.mark.parametrize(
    "actions, env_id, error, words",
    [
        ([0, 1], [0, 9], ValueError, r"env_id\[1\]=9 is not in 0..5"),
        ([0, 1], [-1, 0], ValueError, r"env_id\[0\]=-1"),
        ([0, 1], [4, 4], ValueError, "occurs twice"),
        ([0, 1], [0, 5], RuntimeError, r"env_id\[1\]=5 is in flight"),
        ([0, 1, 1], [0, 1], ValueError, "shape"),
        ([0], [0, 1], ValueError, "shape"),
        (1, [0], TypeError, "single value"),
        ([0, 2], [0, 4], ValueError, "action 2 of lane 4"),
        ([0.0, 1.0], [0, 1], TypeError, "integers"),
        ([[0], [1]], [0, 1], ValueError, "shape"),
        (np.empty(0, int), [], ValueError, "env_id is empty"),
        ([0, 1], [0.0, 1.0], TypeError, "env_id"),
        ([0, 1], [[0], [1, 2]], TypeError, "env_id"),
        ([0, 1], np.array([0, 2**64 - 1], np.uint64), ValueError, r"env_id\[1\]=18446744073709551615 is not in 0..5"),
        (np.array([0, 2**64 - 1], np.uint64), [0, 4], ValueError, "action 18446744073709551615 of lane 4"),
        ([0, 1], None, ValueError, "none have been"),
    ],
)
def test_nothing_wrong_is_sent(actions, env_id, error, words):
    env = ready()
    env.send([1], [5])
    with pytest.raises(error, match=words):
        env.send(actions, env_id)
    assert env._backend.core.in_flight() == 1
    env.send([1], [2])
    assert sorted(env.recv()[4]["env_id"]) == [2, 5]


def test_nothing_is_waited_for_that_never_comes():
    env = ready()
    with pytest.raises(RuntimeError, match="nothing in flight"):
        env.recv()
    env.send([1], [5])
    with pytest.raises(RuntimeError, match=r"1 in flight.*2 rows"):
        env.recv(timeout=5)
    with pytest.raises(ResetNeeded):
        batchenv.make("CartPole-v1", 6, batch_size=2).send([0], [1])
    with pytest.raises(ValueError, match="timeout=-1"):
        env.recv(timeout=-1)
    for size in (0, 7):
        with pytest.raises(ValueError, match=f"batch_size={size}"):
            batchenv.make("CartPole-v1", 6, batch_size=size)


def test_a_timeout_loses_nothing():
    env = batchenv.make("Synthetic-v0", 2, num_threads=2, batch_size=2, cost_us=200_000.0, wait=True)
    env.reset(seed=0)
    env.send([1, 2], [0, 1])
    with pytest.raises(TimeoutError, match="nothing is lost"):
        env.recv(timeout=0.01)
    with pytest.raises(TimeoutError):
        env.recv(timeout=0)
    seen = env.recv(timeout=10)[0]
    sync = batchenv.make("Synthetic-v0", 2, cost_us=0.0)
    sync.reset(seed=0)
    np.testing.assert_array_equal(seen, sync.step([1, 2])[0])


def test_what_touches_lanes_in_flight():
    env = ready()
    saved = env.snapshot()
    env.send([1, 0], [1, 4])
    assert env.state["elapsed_steps"][1] == 1  # waits for the step
    with pytest.raises(RuntimeError, match=r"step.*env_id 1, 4"):
        env.step(np.zeros(6, int))
    with pytest.raises(RuntimeError, match="rollout"):
        env.rollout(np.zeros((2, 6), int))
    with pytest.raises(RuntimeError, match=r"restore.*env_id 1, 4"):
        env.restore(saved)
    with pytest.raises(RuntimeError, match=r"reset.*env_id 1"):
        env.reset(options={"reset_mask": np.arange(6) < 2})
    env.reset(options={"reset_mask": np.arange(6) == 3})  # not in flight
    with pytest.raises(RuntimeError, match="in flight"):
        copy.deepcopy(env)
    env.set_params(gravity=3.0)
    with pytest.raises(RuntimeError, match=r"restore.*env_id 1"):
        env.restore(saved, [0, 1], rows=[0, 1])
    assert env.get_params()["gravity"] == 3.0  # the snapshot's has not come
    for call in (env.reset, env.async_reset):
        with pytest.raises(ValueError, match="low"):
            call(options={"low": "x"})
    assert sorted(env.recv()[4]["env_id"]) == [1, 4]
    env.restore(saved)
    pickle.loads(pickle.dumps(env)).send([1, 0], [1, 4])
    env.send([1, 0], [1, 4])
    env.reset(seed=1)  # drops what is in flight
    with pytest.raises(RuntimeError, match="nothing in flight"):
        env.recv()
    env.send([1, 0], [1, 4])
    env.async_reset(seed=2)
    rows = {}
    for _ in range(3):
        observations, *_, info = env.recv()
        rows.update(zip(info["env_id"].tolist(), observations, strict=True))
    np.testing.assert_array_equal(np.stack([rows[lane] for lane in range(6)]), ready().reset(seed=2)[0])


def test_disabled_autoreset():
    env = batchenv.make("CartPole-v1", 4, batch_size=4, autoreset_mode="Disabled", max_episode_steps=1)
    env.reset(seed=0)
    env.send([0, 0, 0, 0], [0, 1, 2, 3])
    assert env.recv()[3].all()
    with pytest.raises(ResetNeeded, match="lane 2"):
        env.send([0], [2])
    env.reset(options={"reset_mask": np.arange(4) == 2})
    env.send([0], [2])


def test_a_failing_lane_is_reported_with_the_others_results():
    env = batchenv.make("Synthetic-v0", 6, batch_size=3, num_threads=2, cost_us=1.0, fail_step=2, fail_lane=4)
    clean = batchenv.make("Synthetic-v0", 6, cost_us=0.0)
    env.reset(seed=3), clean.reset(seed=3)
    for t in range(6):
        actions = np.full(6, t % 4)
        expected = clean.step(actions)
        env.send(actions, np.arange(6))
        ids, errors = [], 0
        for _ in range(2):
            try:
                result = env.recv()
            except batchenv.LaneError as error:
                np.testing.assert_array_equal(error.env_id, [4])
                assert "lane 4: fail_step=2" in str(error)
                result = error.result
                errors += 1
            lanes = result[4]["env_id"]
            ids.extend(lanes)
            others = lanes != 4
            for a, b in zip(result[:4], expected[:4], strict=True):
                np.testing.assert_array_equal(a[others], b[lanes[others]])
        assert sorted(ids) == list(range(6)) and errors == (t in (1, 4))


def test_results_are_the_users():
    env = ready(lanes=40, batch_size=10)
    env.async_reset(seed=1)
    held = []
    for _ in range(60):
        result = env.recv()
        arrays = [*result[:4], result[4]["env_id"]]
        held.append((arrays, [array.copy() for array in arrays]))
        env.send(np.zeros(10, int), result[4]["env_id"])
    for arrays, copies in held:
        for a, b in zip(arrays, copies, strict=True):
            np.testing.assert_array_equal(a, b)


def test_closing():
    env = batchenv.make("Synthetic-v0", 8, batch_size=2, num_threads=2, cost_us=20_000.0, wait=True)
    before = threading.active_count()
    env.async_reset()
    env.recv()
    env.close(), env.close()
    assert threading.active_count() == before
    for call in (lambda: env.send([0], [0]), lambda: env.recv(), lambda: env.async_reset(), lambda: env.fileno()):
        with pytest.raises(ClosedEnvironmentError):
            call()


def tasks():
    return len(os.listdir("/proc/self/task"))


def tasks_are_at_most(count):
    """Linux lists a thread for a moment longer than it takes to join it."""
    end = time.monotonic() + 5
    while tasks() > count and time.monotonic() < end:
        time.sleep(0.01)
    return tasks() <= count


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc")
def test_workers_go_with_their_env():
    before = tasks()
    for round in range(50):
        env = batchenv.make("CartPole-v1", 8, batch_size=2, num_threads=3)
        env.async_reset()
        env.recv()
        if round % 2:
            env.close()
        del env
    assert tasks_are_at_most(before)


def test_two_threads_at_once_are_refused():
    env = batchenv.make("Synthetic-v0", 2, batch_size=2, num_threads=2, cost_us=300_000.0, wait=True)
    env.reset(seed=0)
    env.send([0, 0], [0, 1])
    waiting = threading.Thread(target=env.recv)
    waiting.start()
    time.sleep(0.05)
    with pytest.raises(RuntimeError, match="another thread"):
        env.recv()
    waiting.join()


def test_asyncio_beside_other_tasks():
    env = batchenv.make("Synthetic-v0", 6, batch_size=2, num_threads=2, cost_us=2000.0, wait=True)
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0.001)
            ticks += 1

    async def run():
        other = asyncio.create_task(tick())
        env.async_reset(seed=1)
        steps = np.zeros(6, int)
        result = await env.arecv()
        env.send([0, 0], result[4]["env_id"])
        async for batch in env:
            ids = batch[4]["env_id"]
            steps[ids] += 1
            again = ids[steps[ids] < 10]
            if len(again):
                env.send(np.zeros(len(again), int), again)
        other.cancel()
        return steps

    steps = asyncio.run(run())
    assert steps.sum() >= 50 and ticks > 5
    with pytest.raises(RuntimeError, match="in flight"):
        asyncio.run(env.arecv())


def test_cheap_lanes_under_asyncio():
    env = ready(lanes=64, batch_size=32)

    async def run():
        env.async_reset(seed=1)
        for _ in range(50):
            result = await env.arecv()
            env.send(np.zeros(32, int), result[4]["env_id"])

    asyncio.run(asyncio.wait_for(run(), 20))


def test_two_tasks_cannot_both_wait():
    env = batchenv.make("Synthetic-v0", 4, batch_size=2, num_threads=2, cost_us=30_000.0, wait=True)
    env.reset(seed=0)
    env.send([0, 0, 0, 0], [0, 1, 2, 3])

    async def run():
        return await asyncio.gather(env.arecv(), env.arecv(), return_exceptions=True)

    first, second = asyncio.run(asyncio.wait_for(run(), 20))
    assert len(first) == 5
    assert isinstance(second, RuntimeError) and "another task" in str(second)
    assert len(asyncio.run(env.arecv())) == 5


def test_closing_under_asyncio():
    def start():
        env = batchenv.make("Synthetic-v0", 2, batch_size=2, num_threads=2, cost_us=100_000.0, wait=True)
        env.async_reset(seed=0)
        env.recv()
        env.send([0, 0], [0, 1])
        return env

    async def close_while_waiting():
        env = start()
        waiting = asyncio.create_task(env.arecv())
        await asyncio.sleep(0.01)
        env.close()
        with pytest.raises(ClosedEnvironmentError):
            await waiting

    async def close_inside_the_loop():
        env = start()
        rounds = 0
        async for _ in env:
            env.close()
            rounds += 1
        assert rounds == 1
        with pytest.raises(ClosedEnvironmentError):
            async for _ in env:
                pass

    asyncio.run(asyncio.wait_for(close_while_waiting(), 20))
    asyncio.run(asyncio.wait_for(close_inside_the_loop(), 20))


def test_selectors():
    env = batchenv.make("Synthetic-v0", 2, batch_size=2, num_threads=2, cost_us=30_000.0, wait=True)
    env.reset(seed=0)
    with selectors.DefaultSelector() as selector:
        selector.register(env, selectors.EVENT_READ)
        assert selector.select(0) == []
        env.send([0, 0], [0, 1])
        assert selector.select(0) == []
        assert selector.select(5)
        env.recv(0)
        assert selector.select(0) == []


def test_ctrl_c_is_answered():
    code = """
import batchenv, numpy, os, signal, threading, time
env = batchenv.make("Synthetic-v0", 2, batch_size=2, num_threads=2, cost_us=2e6, wait=True)
env.reset(seed=0)
env.send([0, 0], [0, 1])
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.perf_counter()
try:
    env.recv()
except KeyboardInterrupt:
    print("answered after", time.perf_counter() - start - 0.3)
    env.recv()
    print("nothing lost")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "nothing lost" in done.stdout, done.stderr
    assert float(done.stdout.split()[2]) < 1.5, "not before the step was over"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_children():
    code = """
import os, sys, warnings
warnings.simplefilter("ignore")
import batchenv, numpy as np
env = batchenv.make("Synthetic-v0", 6, batch_size=3, num_threads=2, cost_us=50.0)
env.async_reset(seed=1)
first = env.recv()
env.recv()
def child():
    pid = os.fork()
    if pid == 0:
        try:
            yield True
            os._exit(0)
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
for _ in child():  # nothing in flight: works
    env.send([1, 2, 3], [0, 1, 2]); env.recv(10); env.step(np.zeros(6, int))
env.send([1, 2, 3], [0, 1, 2])
for _ in child():  # in flight: an error, and a reset makes it work
    for call in (lambda: env.recv(1), lambda: env.send([1], [4]), lambda: env.snapshot()):
        try:
            call()
        except RuntimeError as error:
            assert "fork" in str(error), error
        else:
            raise AssertionError
    env.reset(seed=3)
    env.send([1, 2, 3], [0, 1, 2]); env.recv(10)
env.recv(10)  # the parent goes on
env.close()
print("fine")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "fine", done.stdout + done.stderr


def test_affinity():
    cpus = sorted(os.sched_getaffinity(0))
    for value in (0, 1, cpus, [cpus[-1]]):
        env = batchenv.make("Synthetic-v0", 4, batch_size=2, num_threads=2, thread_affinity=value, cost_us=1.0)
        env.async_reset(seed=1)
        env.recv(10)
        env.reset(seed=1)
        env.step(np.zeros(4, int))
    for value, error in (
        ([], ValueError),
        ([99999], ValueError),
        (-1, ValueError),
        ("x", TypeError),
        ([0.5], TypeError),
    ):
        with pytest.raises(error, match="thread_affinity"):
            batchenv.make("CartPole-v1", 4, thread_affinity=value)


def test_normalized_rows():
    env = ready(lanes=6, batch_size=2, normalize_observation=True)
    env.async_reset(seed=1)
    rows, *_ = env.recv()
    assert rows.dtype == np.float32 and env.normalizer.obs_rms.count > 2


def test_actions_that_are_not_contiguous():
    ours, sync = batchenv.make("CartPole-v1", 8, batch_size=8), batchenv.make("CartPole-v1", 8)
    ours.reset(seed=0), sync.reset(seed=0)
    actions = np.arange(32) // 2 % 2
    ours.send(actions[::4], np.arange(8))
    np.testing.assert_array_equal(ours.recv()[0], sync.step(np.ascontiguousarray(actions[::4]))[0])


def test_arrays_outlive_the_workers():
    """Results are still being written when the last reference to an env goes, or the collector finds it."""
    code = """
import batchenv, gc, numpy as np
for round in range(6):
    env = batchenv.make("CartPole-v1", 20_000, batch_size=1 + round % 2, num_threads=3)
    env.async_reset(seed=0)
    env.recv()
    if round % 3 == 0:
        env.cycle = [env]
    del env
    gc.collect()
    [np.empty(n) for n in range(1, 300)]
print("alive")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "alive", (done.returncode, done.stderr)
    assert not gc.is_tracked(ready()._backend.core)  # or the collector could empty the list of arrays being written


def test_a_refused_reset_drops_nothing():
    env = batchenv.make("CartPole-v1", 4, batch_size=2)
    env.reset(seed=0)
    env.send([0, 0], [1, 3])
    for reset in (env.reset, env.async_reset):
        with pytest.raises(ValueError):
            reset(options={"low": 2.0, "high": 1.0})
    assert sorted(env.recv(5)[4]["env_id"]) == [1, 3]


def test_a_refused_restore_changes_no_params():
    env = ready()
    other = batchenv.make("CartPole-v1", 6, gravity=3.0)
    other.reset(seed=1)
    env.send([1], [2])
    with pytest.raises(RuntimeError, match="restore"):
        env.restore(other.snapshot())
    assert env.get_params()["gravity"] == 9.8


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc")
def test_more_threads_than_lanes_and_tiny_batches():
    before = tasks()
    env = batchenv.make("Synthetic-v0", 2, batch_size=1, num_threads=1024, cost_us=1.0)
    env.async_reset(seed=0)
    env.recv(10)
    assert tasks_are_at_most(before + 2)
    env.reset(seed=0)
    assert tasks_are_at_most(before + 3)
    with pytest.raises(ValueError, match=r"batch_size=1 .*at least 3"):
        batchenv.make("CartPole-v1", 1 << 21, batch_size=1)


@pytest.mark.parametrize("timeout", ["x", [1], float("nan"), -0.5])
def test_what_is_no_timeout(timeout):
    env = ready()
    env.send([1, 1], [0, 1])
    with pytest.raises((TypeError, ValueError), match=f"timeout={re.escape(repr(timeout))}"):
        env.recv(timeout)
    env.recv(float("inf"))


def test_arrays_that_were_changed_are_not_used_again():
    env = batchenv.make("CartPole-v1", 4, batch_size=2, frame_stack=2)
    env.async_reset(seed=0)
    for _ in range(12):
        observations, *_, info = env.recv(5)
        assert observations.shape == (2, 2, 4) and info["env_id"].shape == (2,)
        ids = info["env_id"].copy()
        observations.shape = (2, 4, 2)
        info["env_id"].shape = (2, 1)
        del observations, _, info
        env.send([0, 0], ids)


def test_two_tasks_cannot_wait_and_closing_wakes_one():
    env = batchenv.make("Synthetic-v0", 2, batch_size=2, num_threads=2, cost_us=200_000.0, wait=True)
    env.reset(seed=0)
    env.send([0, 0], [0, 1])

    async def run():
        first = asyncio.create_task(env.arecv())
        await asyncio.sleep(0.01)
        with pytest.raises(RuntimeError, match="another task"):
            await env.arecv()
        assert len((await first)[0]) == 2
        env.send([0, 0], [0, 1])
        waiting = asyncio.create_task(env.arecv())
        await asyncio.sleep(0.01)
        env.close()
        with pytest.raises(ClosedEnvironmentError):
            await asyncio.wait_for(waiting, 5)

    asyncio.run(run())


def test_closing_lets_other_threads_run():
    env = batchenv.make("Synthetic-v0", 2, batch_size=2, num_threads=2, cost_us=300_000.0, wait=True)
    env.reset(seed=0)
    env.send([0, 0], [0, 1])
    time.sleep(0.02)  # both at work
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(0.01):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    env.close()
    end = time.perf_counter()
    done.set()
    thread.join()
    assert end - start > 0.1
    assert sum(start < t < end for t in ticks) > 3


def test_recv_instead_of_step_wait():
    env = batchenv.make("CartPole-v1", 4)
    env.reset(seed=0)
    env.step_async(np.zeros(4, int))
    env.recv()
    with pytest.raises(NoAsyncCallError):
        env.step_wait()
    env.step_async(np.zeros(4, int))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("normalize", [False, True])
def test_resets_that_fail(threads, normalize):
    """The lane alone fails, and its next step tries again; all others are as ever."""
    options = {"cost_us": 0.0, "normalize_observation": normalize}
    env = batchenv.make("Synthetic-v0", 5, num_threads=threads, fail_reset=2, **options)
    clean = batchenv.make("Synthetic-v0", 5, **options)
    others = np.arange(5) != 2
    expected = clean.reset(seed=1)[0]
    with pytest.raises(batchenv.LaneError, match="lane 2: fail_reset=2") as caught:
        env.reset(seed=1)
    np.testing.assert_array_equal(caught.value.env_id, [2])
    assert env.np_random_seed == tuple(range(1, 6))
    if not normalize:
        assert not caught.value.result[0][2].any()
        np.testing.assert_array_equal(caught.value.result[0][others], expected[others])
    with pytest.raises(batchenv.LaneError):
        env.step(np.zeros(5, int))
    env.set_params(fail_reset=-1)
    result = env.step(np.zeros(5, int))
    assert result[0].shape == (5, 3) and not result[3][2]
    env.set_params(fail_reset=3)
    env.async_reset(seed=1)
    with pytest.raises(batchenv.LaneError) as caught:
        env.recv(10)
    np.testing.assert_array_equal(caught.value.env_id, [3])
    if not normalize:
        np.testing.assert_array_equal(caught.value.result[0][:3], expected[:3])


@pytest.mark.parametrize("in_flight", [False, True])
def test_restarts_that_fail(in_flight):
    """SameStep: what an episode ended with is kept although the next one cannot start yet."""
    options = {"autoreset_mode": "SameStep", "max_episode_steps": 3, "cost_us": 0.0, "end_probability": 0.0}
    env = batchenv.make("Synthetic-v0", 4, num_threads=2, record_episode_statistics=True, **options)
    clean = batchenv.make("Synthetic-v0", 4, **options)
    env.reset(seed=1), clean.reset(seed=1)
    env.set_params(fail_reset=1)

    def step():
        if not in_flight:
            return env.step(np.zeros(4, int))
        env.send(np.zeros(4, int), np.arange(4))
        return env.recv(10)

    for _ in range(2):
        step()
        clean.step(np.zeros(4, int))
    expected = clean.step(np.zeros(4, int))
    with pytest.raises(batchenv.LaneError) as caught:
        step()
    result = caught.value.result
    for k in (1, 2, 3):
        np.testing.assert_array_equal(result[k], expected[k])
    np.testing.assert_array_equal(np.stack(result[4]["final_obs"]), np.stack(expected[4]["final_obs"]))
    assert not result[0][1].any() and result[4]["episode"]["l"].tolist() == [3] * 4
    with pytest.raises(batchenv.LaneError) as caught:
        step()
    assert caught.value.result[3].tolist() == [False, True, False, False]
    env.set_params(fail_reset=-1)
    result = step()
    assert not result[3].any() and result[1][1] == 0 and result[0][1][0] == 0


@pytest.mark.parametrize("normalize", [False, True])
def test_rollouts_of_slow_lanes(normalize):
    options = {"cost_us": 0.0, "num_threads": 3, "max_episode_steps": 7, "normalize_observation": normalize}
    ours, stepped = (batchenv.make("Synthetic-v0", 70, fail_step=5, fail_lane=6, **options) for _ in range(2))
    ours.reset(seed=1), stepped.reset(seed=1)
    with pytest.raises(batchenv.LaneError) as caught:
        ours.rollout(12, policy="random", seed=4)
    np.testing.assert_array_equal(caught.value.env_id, [6])
    rollout = caught.value.result
    for t in range(12):
        try:
            result = stepped.step(rollout.actions[t])
        except batchenv.LaneError as error:
            result = error.result
        for k in range(4):
            np.testing.assert_array_equal(rollout[k][t], result[k])
    with pytest.raises(batchenv.LaneError) as again:
        ours.rollout(12, policy="random")
    assert (again.value.result.actions != rollout.actions).any()


def test_a_closed_env_is_not_iterated():
    env = ready()
    env.send([0, 0], [0, 1])

    async def run():
        async for _ in env:
            env.close()

    asyncio.run(run())
    with pytest.raises(ClosedEnvironmentError):
        asyncio.run(run())


def test_pictures_of_lanes_in_flight():
    """The arrow of Pendulum's picture is the lane's last action, by whichever way it was sent."""
    pytest.importorskip("pygame")
    ours = batchenv.make("Pendulum-v1", 3, batch_size=2, render_mode="rgb_array")
    sync = batchenv.make("Pendulum-v1", 3, render_mode="rgb_array")
    ours.reset(seed=1), sync.reset(seed=1)
    actions = np.array([[2.0], [-1.5], [0.5]], np.float32)
    sync.step(actions)
    ours.send(actions[[2, 0]], [2, 0])
    ours.send(actions[[1]], [1])
    for a, b in zip(ours.render(), sync.render(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_recv_draws_the_window(monkeypatch):
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = batchenv.make("CartPole-v1", 1, render_mode="human")
    drawn = []
    monkeypatch.setattr(env._drawer, "draw", lambda lanes: drawn.append(1))
    env.async_reset(seed=0)
    env.recv()
    env.step_async([0])
    env.step_wait()
    assert len(drawn) == 2
    env.close()


def test_lanes_that_become_slow_go_one_by_one():
    """Cheap lanes are worked off several at a time: those of now costlier params not, which would all come late."""
    env = batchenv.make("Synthetic-v0", 32, batch_size=1, num_threads=2, cost_us=0.0, end_probability=0.0, wait=True)
    env.async_reset(seed=0)
    for _ in range(400):
        env.send([0], env.recv(10)[4]["env_id"])
    while env._backend.core.in_flight():
        env.recv(10)
    env.set_params(cost_us=100_000.0)  # 1.6 s for all of them
    start = time.perf_counter()
    env.send(np.zeros(32, int), np.arange(32))
    env.recv(10)
    assert time.perf_counter() - start < 1.2, "only when all came"


def test_snapshots_of_restarts_that_failed():
    options = {"autoreset_mode": "SameStep", "max_episode_steps": 2, "cost_us": 0.0}
    env = batchenv.make("Synthetic-v0", 3, **options)
    env.reset(seed=1)
    env.step(np.zeros(3, int))
    env.set_params(fail_reset=1)
    with pytest.raises(batchenv.LaneError):
        env.step(np.zeros(3, int))
    env.set_params(fail_reset=-1)
    twin = copy.deepcopy(env)
    for a, b in zip(env.step(np.zeros(3, int))[:4], twin.step(np.zeros(3, int))[:4], strict=True):
        np.testing.assert_array_equal(a, b)
