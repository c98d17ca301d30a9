"""Threads that cannot be had, and settings of the OpenMP runtime."""

import concurrent.futures
import math
import os
import warnings

import numpy as np
from harness import attack, note, rounds

import batchenv
from batchenv.system import cgroup
from helpers.begun import begun
from helpers.hostile import few_threads, future, make, same, slow, zeros


def works_with(more, *ids, lanes=65536):
    """Envs of many lanes work where few more threads can be started: with as many as there are."""
    twins = [batchenv.make(name, lanes, num_threads=1) for name in ids]
    for twin in twins:
        twin.reset(seed=0)
    few_threads(more)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there are fewer threads is worth one
        for name, twin in zip(ids, twins, strict=True):
            for threads in (None, 2, 4, 64):
                note(f"{name}, num_threads={threads}")
                try:
                    env = begun(batchenv.make(name, lanes, num_threads=threads))
                    snapshot = twin.snapshot()
                    same(env.step(zeros(env))[:4], twin.step(zeros(twin))[:4])
                    same(env.rollout(zeros(env, steps=3))[:4], twin.rollout(zeros(twin, steps=3))[:4])
                    twin.restore(snapshot)
                except RuntimeError as error:
                    assert "thread" in str(error) or "workers" in str(error), error


attack(name="no_more_threads_for_cartpole", needs=("linux",))(lambda: works_with(0, "CartPole-v1", "FrozenLake-v1"))
attack(name="one_more_thread_for_cartpole", needs=("root",))(lambda: works_with(1, "CartPole-v1"))
attack(name="two_more_threads_for_cartpole", needs=("root",))(lambda: works_with(2, "CartPole-v1"))


def background_with(more, make_one):
    """Envs with workers, where few more threads can be started: a RuntimeError, or they work."""
    twin = begun(make_one())
    twin.close()
    few_threads(more)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in ("send", "async_reset", "step", "rollout", "reset"):
            note(call)
            try:
                env = begun(make_one())
                if call == "send":
                    env.send(zeros(env), np.arange(env.num_envs))
                    env.recv(20)
                elif call == "async_reset":
                    env.async_reset(seed=0)
                    env.recv(20)
                elif call == "step":
                    env.step(zeros(env))
                elif call == "rollout":
                    env.rollout(zeros(env, steps=3))
            except RuntimeError as error:
                assert "thread" in str(error) or "workers" in str(error), error


attack(name="no_more_threads_for_slow_lanes", needs=("linux",))(
    lambda: background_with(0, lambda: slow(0.001, lanes=64, threads=4))
)
attack(name="two_more_threads_for_slow_lanes", needs=("root",))(
    lambda: background_with(2, lambda: slow(0.001, lanes=64, threads=4))
)
attack(name="no_more_threads_for_hopper", needs=("mujoco", "linux"))(
    lambda: background_with(0, lambda: make("Hopper-v5", 32, num_threads=4))
)
attack(name="no_more_threads_for_pong", needs=("ale", "linux"))(
    lambda: background_with(0, lambda: make("Pong-v5", 4, num_threads=4))
)
attack(name="no_more_threads_for_procgen", needs=("procgen", "linux"))(
    lambda: background_with(0, lambda: make("procgen-coinrun-v0", 4, num_threads=4))
)


@attack(needs=("procgen",))
def threads_that_make_their_first_procgen_envs_at_once():
    def first(game):
        env = make(f"procgen-{game}-v0", 4)
        env.reset(seed=1)
        return future(env)

    games = ("coinrun", "maze", "coinrun", "starpilot")
    with concurrent.futures.ThreadPoolExecutor(len(games)) as pool:
        found = list(pool.map(first, games))
    for game, results in zip(games, found, strict=True):
        same(results, first(game))


@attack(needs=("procgen",))
def threads_with_procgen_envs_of_their_own():
    """Games are made, stepped and taken apart side by side."""

    def work(seed):
        results = []
        for _ in rounds(4):
            env = make("procgen-ninja-v0", 6, distribution_mode="easy", autoreset_mode="SameStep")
            env.reset(seed=seed)
            results.append([future(env, 60), env.reset(), future(env, 60)])
            env.close()
        return results

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        found = list(pool.map(work, range(3)))
    for seed, results in enumerate(found):
        same(results, work(seed))


@attack(needs=("linux",))
def no_more_threads_later():
    env, twin = (begun(make("CartPole-v1", 65536)) for _ in range(2))
    expected = [twin.step(zeros(twin))[0], twin.rollout(zeros(twin, steps=3)).observations]
    few_threads(0)
    same([env.step(zeros(env))[0], env.rollout(zeros(env, steps=3)).observations], expected)


@attack(needs=("little memory",))
def a_thousand_threads_with_little_memory():
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, lanes in (("CartPole-v1", 65536), ("Synthetic-v0", 2000)):
            try:
                env = begun(make(name, lanes, num_threads=1000))
                env.step(zeros(env))
                env.rollout(zeros(env, steps=2))
            except (RuntimeError, MemoryError) as error:
                assert isinstance(error, MemoryError) or "thread" in str(error) or "workers" in str(error), error


def two_threads_as_one():
    """Two threads give what one does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        envs = [batchenv.make("CartPole-v1", 20_000, num_threads=threads) for threads in (1, 2)]
    for env in envs:
        env.reset(seed=0)
    envs[1]._backend.core.force_parallel(True)
    same(*(future(env) for env in envs))


attack(name="stacks_that_nobody_has", env={"OMP_STACKSIZE": "100G"})(lambda: two_threads_as_one())
attack(name="stacks_too_small", needs=("no sanitizer",), env={"OMP_STACKSIZE": "16k"})(lambda: two_threads_as_one())
attack(name="openmp_with_one_thread", env={"OMP_THREAD_LIMIT": "1", "OMP_DYNAMIC": "true"})(
    lambda: two_threads_as_one()
)
attack(
    name="openmp_with_odd_settings",
    env={"OMP_NUM_THREADS": "1,1", "OMP_NESTED": "true", "OMP_SCHEDULE": "guided", "OMP_WAIT_POLICY": "active"},
)(lambda: two_threads_as_one())
attack(
    name="openmp_with_wrong_settings",
    env={"OMP_NUM_THREADS": "99999999999999999999", "OMP_PROC_BIND": "?"},
    stderr="libgomp: Invalid value",
)(lambda: two_threads_as_one())


@attack(env={"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}, needs=("linux",))
def threads_bound_to_cores():
    # The runtime binds this process's main thread; its parent may still run where it always could.
    allowed = len(os.sched_getaffinity(os.getppid()))
    allowed = min(allowed, math.ceil(cgroup.cpu_limit() or allowed))
    found = batchenv.build_info()["max_threads"]
    assert found == allowed, f"max_threads is {found} of {allowed} CPUs"
    assert make("CartPole-v1", 64, num_threads=None)._backend.core.num_threads > 1 or allowed == 1
    two_threads_as_one()


attack(name="threads_bound", env={"OMP_PROC_BIND": "true"})(lambda: two_threads_as_one())
