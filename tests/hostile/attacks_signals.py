"""Ctrl-C while anything runs: answered soon, and the env can be used again."""

import os
import signal
import threading
import time

import numpy as np
from gymnasium.error import ResetNeeded
from harness import attack

import batchenv
from helpers.begun import begun
from helpers.hostile import Background, future, make, same, slow, zeros

SOON = 3  # seconds, of calls that take 6 and more; one is meant


def interrupted(call, after=0.2):
    """Ctrl-C arrives while the call runs, and ends it soon."""

    def send():
        time.sleep(after)
        os.kill(os.getpid(), signal.SIGINT)

    sender = Background(send)
    start = time.monotonic()
    try:
        call()
    except KeyboardInterrupt:
        took = time.monotonic() - start
        assert took < after + SOON, f"Ctrl-C was answered after {took:.1f} s"
    else:
        raise AssertionError(f"Ctrl-C was not answered: the call returned after {time.monotonic() - start:.1f} s")
    finally:
        sender.result()


def usable(env):
    """It takes steps, or says that it needs a reset; once reset it is as new."""
    env.set_params(cost_us=0.0)
    try:
        env.step(zeros(env))
    except (ResetNeeded, RuntimeError) as error:
        assert "reset" in str(error), error
    twin = slow(0.0, lanes=env.num_envs)
    same(env.reset(seed=5), twin.reset(seed=5))
    same(future(env), future(twin))
    same([*env.rollout(5, policy="random", seed=2)], [*twin.rollout(5, policy="random", seed=2)])


def while_slow(call, threads, before=lambda env: None, lanes=40):
    """Of lanes that take half a second each."""
    env = begun(slow(0.0, lanes=lanes, threads=threads), seed=1)
    env.step(zeros(env))
    env.set_params(cost_us=0.5e6)
    before(env)
    interrupted(lambda: call(env))
    usable(env)


attack(name="interrupted_step", limit=30)(lambda: while_slow(lambda env: env.step(zeros(env)), 2))
attack(name="interrupted_step_of_one_thread", limit=30)(lambda: while_slow(lambda env: env.step(zeros(env)), 1))
attack(name="interrupted_rollout", limit=30)(lambda: while_slow(lambda env: env.rollout(zeros(env, steps=10)), 2))
attack(name="interrupted_rollout_of_one_thread", limit=30)(
    lambda: while_slow(lambda env: env.rollout(10, policy="random"), 1)
)


def send(env):
    """All lanes in flight."""
    env.send(zeros(env), np.arange(env.num_envs))


attack(name="interrupted_recv", limit=30)(lambda: while_slow(lambda env: env.recv(), 2, send, lanes=24))
attack(name="interrupted_step_wait", limit=30)(
    lambda: while_slow(lambda env: env.step_wait(), 2, lambda env: env.step_async(zeros(env)), lanes=24)
)
attack(name="interrupted_reset_that_waits", limit=30)(
    lambda: while_slow(lambda env: env.reset(seed=3), 2, send, lanes=24)
)
attack(name="interrupted_snapshot_that_waits", limit=30)(
    lambda: while_slow(lambda env: env.snapshot(), 2, send, lanes=24)
)


@attack(limit=30)
def interrupted_resets():
    env = begun(make("Synthetic-v0", 300_000, num_threads=2, cost_us=0.0))
    interrupted(lambda: [env.reset(seed=1) for _ in range(1000)])
    env.reset(seed=2)
    env.step(zeros(env))


@attack(needs=("mujoco",), limit=30)
def interrupted_step_of_hopper():
    for threads in (1, 2):
        env = begun(make("Hopper-v5", 300, num_threads=threads, frame_skip=10_000))
        interrupted(lambda env=env: env.step(zeros(env)))
        env.reset(seed=1)
        env.close()


@attack(needs=("mujoco",), limit=30)
def interrupted_rollout_of_hopper():
    env = begun(make("Hopper-v5", 4, num_threads=2, frame_skip=2000))
    interrupted(lambda: env.rollout(1000, policy="random"))
    env.reset(seed=1)


@attack(limit=30)
def interrupted_rollout_of_walkers():
    """Of a kernel whose steps take long."""
    env = begun(make("BipedalWalker-v3", 64, num_threads=1))
    interrupted(lambda: env.rollout(8000, policy="random"))
    env.reset(seed=1)


@attack(needs=("ale",), limit=30)
def interrupted_rollout_of_pong():
    env = begun(make("Pong-v5", 2))
    interrupted(lambda: env.rollout(20_000, policy="random"))
    env.reset(seed=1)
    env.step(zeros(env))


@attack(needs=("procgen",), limit=30)
def interrupted_rollout_of_procgen():
    env, twin = (begun(make("procgen-coinrun-v0", 1)) for _ in range(2))
    interrupted(lambda: env.rollout(200_000, policy="random"))
    for one in (env, twin):
        one.reset(seed=1)
    same(future(env), future(twin))


@attack()
def interrupted_rollout_of_cartpole():
    env = begun(make("CartPole-v1", 5000))
    actions = np.zeros((1000, 5000), np.int64)

    def rolls():
        for _ in range(1000):
            env.rollout(actions)

    interrupted(rolls)
    env.reset(seed=1)
    env.step(zeros(env))


@attack(needs=("ale",), limit=30)
def interrupted_make_of_pong():
    interrupted(lambda: batchenv.make("Pong-v5", 10_000), after=1.5)
    make("Pong-v5", 2).reset(seed=0)


attack(name="interrupted_make_of_procgen", needs=("procgen",), limit=30)(
    lambda: interrupted(lambda: [make("procgen-coinrun-v0", 64).reset(seed=0) for _ in range(1000)], after=4)
)
attack(name="interrupted_make_of_humanoid", needs=("mujoco",), limit=30)(
    lambda: interrupted(lambda: [batchenv.make("Humanoid-v5", 200).reset(seed=0) for _ in range(1000)], after=2)
)
attack(name="interrupted_make_of_cartpole")(
    lambda: interrupted(lambda: [batchenv.make("CartPole-v1", 3_000_000).reset(seed=0) for _ in range(1000)], after=1)
)


@attack()
def interrupted_in_a_thread_that_is_not_the_main_one():
    env = begun(slow(0.05, lanes=20))
    twin = begun(slow(0.0, lanes=20))
    running = Background(lambda: env.step(zeros(env)))
    met = []

    def handler(*_):
        met.append(threading.current_thread() is threading.main_thread())

    before = signal.signal(signal.SIGINT, handler)
    os.kill(os.getpid(), signal.SIGINT)
    same(running.result(), twin.step(zeros(twin)))
    signal.signal(signal.SIGINT, before)
    assert met == [True]


@attack()
def a_handler_that_returns_changes_nothing():
    env, twin = slow(0.02, lanes=40), slow(0.0, lanes=40)
    results = []
    met = []
    signal.signal(signal.SIGALRM, lambda *_: met.append(1))
    for one in (env, twin):
        one.reset(seed=0)
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        results.append([one.step(zeros(one)), one.rollout(zeros(one, steps=2)), one.reset(seed=1)[0]])
        signal.setitimer(signal.ITIMER_REAL, 0)
    same(*results)
