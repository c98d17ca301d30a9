"""fork in every state: the child resets and uses, closes or leaves its env, and the parent's goes on."""

import copy
import os
import pickle
import sys
import threading
import time

import numpy as np
from harness import attack, note, rounds

from helpers.begun import begun
from helpers.hostile import Complaints, await_child, clear, forked, future, inside, make, same, slow, zeros


def new(env):
    """Never reset."""


def idle(env):
    """Reset and stepped, and received from once."""
    env.reset(seed=1)
    env.send(zeros(env), np.arange(env.num_envs))
    env.recv()
    env.step(zeros(env))


def flying(env):
    """Lanes in flight."""
    env.reset(seed=1)
    env.send(zeros(env), np.arange(env.num_envs))


def waiting(env):
    """Results that wait to be received."""
    flying(env)
    env.snapshot()


def resetting(env):
    """Lanes being reset."""
    env.async_reset(seed=1)


def pending(env):
    """A step begun."""
    env.reset(seed=1)
    env.step_async(zeros(env))


STATES = (new, idle, flying, waiting, resetting, pending)


def uses(env, twin):
    """Refused until it is reset, or fine; then it does what a twin does."""
    for call in (lambda: env.step(zeros(env)), lambda: env.recv(0.1), lambda: env.snapshot(), lambda: env.state):
        try:
            call()
        except TimeoutError as error:
            raise AssertionError("recv() waits for lanes that nobody steps") from error
        except Exception as error:
            words = str(error).lower()
            assert "reset" in words or "nothing in flight" in words, f"{type(error).__name__}: {error}"
    same(env.reset(seed=7), twin.reset(seed=7))
    # Not the snapshots: a game's saved state keeps a few bytes of what was before the reset, which decide nothing.
    same(future(env)[0], future(twin)[0])
    for one in (env, twin):
        one.send(zeros(one), np.arange(one.num_envs))
    same(env.recv(10), twin.recv(10))
    same([*env.rollout(4, policy="random", seed=1)], [*twin.rollout(4, policy="random", seed=1)])
    env.close()


def every_state(name, lanes, **options):
    """From each state, three kinds of children."""
    complaints = Complaints()
    for state in STATES:
        for child in ("uses", "async", "closes", "drops", "leaves", "grandchild"):
            with complaints.about(f"{state.__name__}, the child {child}"):
                note(f"{state.__name__}, the child {child}")
                env = make(name, lanes, **options)
                state(env)
                held = [env]

                def work(child=child, held=held):
                    env = held[0]
                    if child == "uses":
                        uses(env, make(name, lanes, **options))
                    elif child == "async":
                        env.async_reset(seed=3)
                        assert len(env.recv(10)[1]) == lanes
                    elif child == "closes":
                        env.close()
                    elif child == "drops":
                        held.clear()
                        del env
                    elif child == "grandchild":
                        forked(lambda: (env.reset(seed=3), env.step(zeros(env)), env.close()), 15)

                del env
                forked(work, 20)
                env = held[0]
                if state in (flying, waiting, resetting):
                    assert len(env.recv(10)[1]) == lanes
                elif state is pending:
                    env.step_wait(10)
                env.reset(seed=2)
                env.step(zeros(env))
    complaints.tell()


attack(name="fork_with_cartpole")(lambda: every_state("CartPole-v1", 300))
attack(name="fork_with_many_cartpoles")(lambda: every_state("CartPole-v1", 20_000))
attack(name="fork_with_slow_lanes")(lambda: every_state("Synthetic-v0", 6, cost_us=2e4))
attack(name="fork_with_hopper", needs=("mujoco",))(lambda: every_state("Hopper-v5", 4))
attack(name="fork_with_joined_hopper", needs=("mujoco",))(lambda: every_state("joined Hopper-v5", 4))
attack(name="fork_with_pong", needs=("ale",), limit=90)(lambda: every_state("Pong-v5", 2))
attack(name="fork_with_procgen", needs=("procgen",), limit=90)(lambda: every_state("procgen-bigfish-v0", 2))


INSIDE = {
    "step": (False, lambda env: env.step(zeros(env))),
    "rollout": (False, lambda env: env.rollout(zeros(env, steps=3))),
    "recv": (True, lambda env: env.recv()),
    "reset": (True, lambda env: env.reset(seed=3)),
    "async_reset": (True, lambda env: env.async_reset(seed=3)),
    "snapshot": (True, lambda env: env.snapshot()),
}


def during_calls(children):
    """fork while another thread is inside of a call."""
    complaints = Complaints()
    for name, (in_flight, call) in INSIDE.items():
        for child, work in children.items():
            with complaints.about(f"while {name}() runs, the child {child}"):
                note(f"while {name}() runs, the child {child}")
                env = begun(slow(0.1), seed=1)
                if in_flight:
                    env.send(zeros(env), np.arange(4))
                running = inside(lambda call=call, env=env: call(env))
                forked(lambda work=work, env=env: work(env), 20)
                running.result()
                if name == "async_reset":
                    env.recv(10)
                env.set_params(cost_us=0.0)
                if name != "snapshot":
                    env.reset(seed=2)
                    env.step(zeros(env))
                env.close()
    complaints.tell()


@attack()
def a_child_of_a_call_resets():
    def work(env):
        env.reset(seed=7)
        env.set_params(cost_us=0.0)
        twin = begun(slow(0.0), seed=7)
        expected, done = future(twin), future(env)
        same(done[0], expected[0])

    during_calls({"resets": work})


attack(name="a_child_of_a_call_closes")(
    lambda: during_calls({"closes": lambda env: env.close(), "leaves": lambda env: None})
)


@attack()
def a_child_of_a_call_resets_in_the_background():
    def work(env):
        env.async_reset(seed=7)
        assert len(env.recv(10)[1]) == 4

    during_calls({"resets in the background": work})


@attack()
def a_child_of_a_call_is_told_to_reset():
    def work(env):
        for call in (lambda: env.step(zeros(env)), lambda: env.recv(0.1), lambda: env.send(zeros(env), np.arange(4))):
            clear(call, Exception, "reset")

    during_calls({"is told": work})


def child_resets_during_rollout(env, steps):
    """A child forked while a thread of the parent's rolls lanes out: it can reset and use them."""
    env.reset(seed=1)
    running = inside(lambda: env.rollout(zeros(env, steps=steps)))

    def work():
        env.reset(seed=7)
        env.step(zeros(env))
        env.close()

    forked(work)
    running.result()


attack(name="a_child_of_hoppers_step_resets", needs=("mujoco",))(
    lambda: child_resets_during_rollout(make("Hopper-v5", 8, frame_skip=4000), steps=5)
)
attack(name="a_child_of_pongs_step_resets", needs=("ale",))(
    lambda: child_resets_during_rollout(make("Pong-v5", 2, frameskip=30), steps=400)
)


@attack(needs=("procgen",))
def a_child_of_procgens_step_uses_its_games():
    """Each child finds games in the midst of a step, or of being made anew."""
    env, twin = (make("procgen-coinrun-v0", 2, distribution_mode="easy") for _ in range(2))
    twin.reset(seed=7)
    expected = future(twin)

    def seeded():
        env.reset(seed=7)
        same(future(env)[0], expected[0])

    def unseeded():
        env.reset()
        env.step(zeros(env))

    def restored():
        env.restore(twin.snapshot())
        same(future(env)[0], future(twin)[0])

    for name, call in {
        "rollout": lambda: env.rollout(zeros(env, steps=1500)),
        "resets": lambda: [env.reset(seed=k) for k in range(400)],
    }.items():
        for work in (seeded, unseeded, restored, env.close, lambda: None):
            for _ in rounds(3):
                note(f"{name}: {work.__name__}")
                env.reset(seed=1)
                running = inside(call)
                forked(work)
                running.result()


@attack(needs=("procgen", "no sanitizer"))
def a_child_of_making_procgens_games_makes_some():
    env = begun(make("procgen-coinrun-v0", 64, num_threads=1))
    stop = threading.Event()

    def resets():
        while not stop.is_set():
            env.reset(seed=0)

    running = inside(resets)
    for _ in rounds(60):
        forked(lambda: make("procgen-coinrun-v0", 1).reset(seed=0), 10)
    stop.set()
    running.result()


@attack(needs=("procgen", "no sanitizer"))
def a_child_of_loading_procgens_images_makes_games():
    running = inside(lambda: make("procgen-maze-v0", 2).reset(seed=0)[0])
    children = []
    while running.running:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                first = make("procgen-maze-v0", 2).reset(seed=0)[0]
                status = int(first.sum() == 0)
            finally:
                os._exit(status)
        children.append(pid)
        time.sleep(0.2)
    for pid in children:
        await_child(pid)
    running.result()


@attack(needs=("no sanitizer",))
def a_child_of_making_makes():
    stop = threading.Event()

    def makes():
        while not stop.is_set():
            make("CartPole-v1", 3000).reset(seed=0)

    running = inside(makes)
    for _ in range(20):
        forked(lambda: make("CartPole-v1", 3000).reset(seed=0), 10)
    stop.set()
    running.result()


@attack(needs=("no sanitizer",))  # its allocator's locks may be held by a worker when the process is forked
def a_child_that_ends_as_programs_do():
    for state in STATES:
        env = slow(0.02)
        state(env)
        pid = os.fork()
        if pid == 0:
            sys.exit(0)  # destructors and all
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@attack()
def copies_in_a_child():
    env = slow(0.0)
    idle(env)
    text, twin = pickle.dumps(env), copy.deepcopy(env)
    expected = future(twin)

    def work():
        same(future(pickle.loads(text)), expected)
        same(future(copy.deepcopy(env)), expected)
        same(future(env), expected)

    forked(work)
