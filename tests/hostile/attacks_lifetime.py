"""Letting go of an env, in every way, while workers are at its lanes; and things that outlive their env."""

import contextlib
import gc
import random
import signal
import sys
import threading
import time

import numpy as np
from harness import attack, note, rounds

import batchenv
from helpers.begun import begun
from helpers.hostile import Background, core_of, future, inside, make, same, signalled, slow, zeros

# ---- lanes in flight ---------------------------------------------------------------------------------------------


def send_all(env):
    """All lanes in flight."""
    env.reset(seed=0)
    env.send(zeros(env), np.arange(env.num_envs))


def send_some(env):
    """A few lanes in flight, and one result received before."""
    env.reset(seed=0)
    env.send(zeros(env), np.arange(env.num_envs))
    env.recv()
    env.send(zeros(env, 2), [1, 0])


def step_async(env):
    """A step begun."""
    env.reset(seed=0)
    env.step_async(zeros(env))


def async_reset(env):
    """All lanes being reset."""
    env.async_reset(seed=0)


def idle_workers(env):
    """Nothing in flight, but workers that wait."""
    env.reset(seed=0)
    env.step(zeros(env))


FLIGHTS = (send_all, send_some, step_async, async_reset, idle_workers)

# ---- ways to let go: each gets the only reference, in a list -------------------------------------------------------


def dropped(held):
    """The last reference goes."""
    held.clear()


def closed(held):
    """Closed first; then the last reference goes."""
    held.pop().close()


def raising(held):
    """An exception passes through the function that has the env; its traceback holds it for a while."""

    def function(env):
        env.no_such_attribute  # noqa: B018 - it raises

    try:
        function(held.pop())
    except AttributeError as error:
        kept = error
    del kept


def emptied(order):
    """The env's __dict__ is emptied in an order of its own."""

    def way(held):
        env = held.pop()
        names = order(list(vars(env)))
        for name in names:
            vars(env).pop(name, None)
        env.closed = True  # for VectorEnv's own destructor, if it has one

    way.__name__ = f"emptied_{order.__name__}"
    return way


def forwards(names):
    """In the order in which they were set."""
    return names


def backwards(names):
    """The other way round."""
    return names[::-1]


def shuffled(names):
    """In any order."""
    return random.sample(names, len(names))


def cycle(held):
    """The env is in a cycle, which the collector finds."""
    env = held.pop()
    env.myself = {"env": env, "batch": core_of(env)}
    del env
    gc.collect()


def cycle_with_parts(held):
    """Its parts are in cycles, which hold them longer than the env."""
    env = held.pop()
    parts = [*vars(env).values()]
    parts.append(parts)
    del env
    time.sleep(0.001)
    del parts
    gc.collect()


def elsewhere(held):
    """Another thread has the last reference."""
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()


def made_again(held):
    """The same object is constructed once more."""
    env = held.pop()
    env.__init__(env._id, env.num_envs, num_threads=2)
    env.reset(seed=0)


EMPTIED = map(emptied, (forwards, backwards, shuffled))
WAYS = (dropped, closed, raising, *EMPTIED, cycle, cycle_with_parts, elsewhere, made_again)


def every_way(name, lanes, count=1, flights=FLIGHTS, **options):
    """All ways from all states."""
    gc.disable()
    for flight in flights:
        for way in WAYS:
            if way is made_again and name not in batchenv.list_envs():
                continue
            for _ in rounds(count):
                note(f"{flight.__name__}, {way.__name__}")
                held = [make(name, lanes, **options)]
                flight(held[0])
                way(held)
    gc.collect()
    env = begun(make(name, lanes, **options))  # all is well
    env.step(zeros(env))


attack(name="let_go_of_cartpole")(lambda: every_way("CartPole-v1", 2000))
attack(name="let_go_of_taxi")(lambda: every_way("Taxi-v4", 2000))
attack(name="let_go_of_normalized_cartpole")(lambda: every_way("normalized CartPole-v1", 2000))
attack(name="let_go_of_slow_lanes")(lambda: every_way("Synthetic-v0", 8, cost_us=3e3))
attack(name="let_go_of_hopper", needs=("mujoco",))(lambda: every_way("Hopper-v5", 8))
attack(name="let_go_of_one_thread_of_hopper", needs=("mujoco",))(lambda: every_way("Hopper-v5", 8, num_threads=1))
attack(name="let_go_of_normalized_hopper", needs=("mujoco",))(lambda: every_way("normalized Hopper-v5", 8))
attack(name="let_go_of_joined_hopper", needs=("mujoco",))(lambda: every_way("joined Hopper-v5", 8))
attack(name="let_go_of_joined_cartpole")(lambda: every_way("joined CartPole-v1", 200))
attack(name="let_go_of_hopper_with_models_of_its_own", needs=("mujoco",))(
    lambda: every_way("Hopper-v5", 8, gravity=np.linspace([0, 0, -9], [0, 0, -1], 8))
)


@attack(needs=("mujoco",))
def the_loop_of_the_documentation():
    for k in rounds(30):
        note(k)
        env = begun(batchenv.make("Hopper-v5", 16, num_threads=2, frame_skip=200))
        env.send(np.zeros((16, 3), np.float32), np.arange(16))


SWINGS = """<mujoco><worldbody><body><joint name="j" type="hinge" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/>
<body pos=".5 0 0"><joint type="ball"/><geom size=".1"/></body></body></worldbody>
<actuator><motor joint="j"/></actuator></mujoco>"""


@attack(needs=("mujoco",))
def let_go_of_a_model_of_ones_own():
    for flight in FLIGHTS:
        for way in WAYS[:-1]:
            note(f"{flight.__name__}, {way.__name__}")
            held = [batchenv.make_mujoco(SWINGS, 8, num_threads=2, frame_skip=200)]
            flight(held[0])
            way(held)


attack(name="let_go_of_pong", needs=("ale",))(lambda: every_way("Pong-v5", 2, flights=FLIGHTS[:2]))
attack(name="let_go_of_procgen", needs=("procgen",))(lambda: every_way("procgen-coinrun-v0", 3))
attack(name="let_go_of_a_game_for_two", needs=("ale",))(lambda: every_way("players", 2, flights=FLIGHTS[2:4]))
attack(name="let_go_of_what_is_drawn", needs=("pygame",))(lambda: every_way("CartPole-v1", 4, render_mode="rgb_array"))


# ---- the end of the process ----------------------------------------------------------------------------------------

left_over = []


def at_exit(name, lanes, **options):
    """Envs of every state are still there when the interpreter ends."""
    for flight in FLIGHTS:
        env = make(name, lanes, **options)
        flight(env)
        env.myself = env  # no reference count will do
        left_over.append(env)


attack(name="exit_with_cartpole")(lambda: at_exit("CartPole-v1", 2000))
attack(name="exit_with_slow_lanes")(lambda: at_exit("Synthetic-v0", 8, cost_us=5e4))
attack(name="exit_with_hopper", needs=("mujoco",))(lambda: at_exit("Hopper-v5", 8, frame_skip=2000))
attack(name="exit_with_joined_hopper", needs=("mujoco",))(lambda: at_exit("joined Hopper-v5", 8, frame_skip=2000))


@attack(needs=("mujoco",))
def exit_with_hopper_that_modules_hold():
    at_exit("Hopper-v5", 8, frame_skip=2000)
    left_over[-1].batch = core_of(left_over[-1])
    sys.modules["numpy.hold"] = left_over[0]
    np.hold = left_over[1]  # modules are emptied in an order that nobody knows


attack(name="exit_with_pong", needs=("ale",))(lambda: at_exit("Pong-v5", 3))
attack(name="exit_with_procgen", needs=("procgen",))(lambda: at_exit("procgen-coinrun-v0", 3))


@attack(needs=("mujoco",))
def exit_inside_of_a_handler():
    env = begun(make("Hopper-v5", 8, frame_skip=30_000))
    left_over.append(env)
    env.send(zeros(env), np.arange(8))

    def leave():
        raise SystemExit(0)

    try:
        signalled(env.recv, signal.SIGALRM, leave)
    except SystemExit:
        return
    raise AssertionError("recv() was not interrupted")


@attack()
def exit_while_a_thread_is_inside_of_a_call():
    for call in ("step", "recv", "reset", "rollout"):
        env = begun(slow(0.5))
        if call in ("recv", "reset"):
            env.send(zeros(env), np.arange(4))
        arguments = {"step": (zeros(env),), "rollout": (zeros(env, steps=9),)}.get(call, ())
        left_over.append(Background(lambda env=env, call=call, arguments=arguments: getattr(env, call)(*arguments)))
    time.sleep(0.1)


@attack(needs=("mujoco",))
def exit_while_a_thread_steps_hopper():
    env = begun(make("Hopper-v5", 8, frame_skip=10_000))
    left_over.append(Background(lambda: [env.step(zeros(env)) for _ in range(1000)]))
    time.sleep(0.05)


# ---- a thread that is still inside ---------------------------------------------------------------------------------


@attack()
def let_go_while_a_thread_receives():
    env = begun(slow(0.1))
    env.send(zeros(env), np.arange(4))
    waiting = inside(env.recv)
    del env
    gc.collect()
    assert len(waiting.result()[1]) == 4


@attack(needs=("mujoco",))
def empty_the_env_while_a_thread_is_inside():
    for call in ("step", "rollout", "recv"):
        note(call)
        env = begun(make("Hopper-v5", 8, frame_skip=10_000))
        actions = zeros(env, steps=2 if call == "rollout" else None)
        if call == "recv":
            env.send(actions, np.arange(8))
            running = inside(env.recv)
        else:
            method = getattr(env, call)
            running = inside(lambda actions=actions, method=method: method(actions))
        for name in list(vars(env)):
            vars(env).pop(name, None)
        gc.collect()
        with contextlib.suppress(AttributeError):  # it asks for what was taken away: its own fault
            running.result()


# ---- what outlives its env -----------------------------------------------------------------------------------------


def everything(env):
    """All that an env hands out."""
    env.reset(seed=3)
    results = [env.step(zeros(env)), env.snapshot(), env.get_params(), env.np_random]
    results += [dict(env.state), env.rollout(zeros(env, steps=3))]
    env.send(zeros(env), np.arange(env.num_envs))
    return [*results, env.recv()]


def outlive(name, lanes, **options):
    """Results of an env that is gone are as those of one that is there, and can be written to."""
    gone = everything(make(name, lanes, **options))
    gc.collect()
    env = make(name, lanes, **options)
    there = everything(env)
    for a, b in zip(gone, there, strict=True):
        if isinstance(b, tuple) and isinstance(b[0], np.random.Generator | np.random.RandomState):
            a, b = ([generator.random() for generator in generators] for generators in (a, b))
        same(a, b)
    other = make(name, lanes, **options)
    for results in (gone, there):
        other.restore(results[1])
        results.append(future(other, 2))
    same(gone[-1], there[-1])
    for array in gone[0][:4]:
        array[...] = 0


attack(name="results_outlive_cartpole")(lambda: outlive("CartPole-v1", 64))
attack(name="results_outlive_a_ring_of_arrays")(lambda: outlive("CartPole-v1", 64, copy=False))
attack(name="results_outlive_hopper", needs=("mujoco",))(
    lambda: outlive("Hopper-v5", 6, autoreset_mode="SameStep", max_episode_steps=3)
)
attack(name="results_outlive_pong", needs=("ale",))(lambda: outlive("Pong-v5", 2))
attack(name="results_outlive_procgen", needs=("procgen",))(lambda: outlive("procgen-coinrun-v0", 2))


@attack(needs=("mujoco",))
def models_and_data_outlive_hopper():
    import mujoco

    env = begun(make("Hopper-v5", 4))
    env.set_params(lanes=[1], gravity=[0, 0, -1])
    models, datas = env.get_attr("model"), env.get_attr("data")
    places, start = env.get_attr("qpos"), env.get_attr("init_qpos")
    del env
    gc.collect()
    for _ in range(3):
        make("Hopper-v5", 4).reset(seed=1)  # takes the memory that got free
    for model, data, place, first in zip(models, datas, places, start, strict=True):
        same(np.array(data.qpos), np.array(place))
        assert len(first) == model.nq
        mujoco.mj_step(model, data)
    assert models[1].opt.gravity[2] == -1 and models[0].opt.gravity[2] == -9.81


@attack()
def a_file_descriptor_outlives_its_env():
    import os
    import selectors

    env = slow(0.05)
    env.async_reset(seed=0)
    descriptor = env.fileno()
    env.recv()
    selector = selectors.DefaultSelector()
    selector.register(descriptor, selectors.EVENT_READ)
    del env
    gc.collect()
    assert selector.select(0) == []
    other = os.open(os.devnull, os.O_RDONLY)  # very likely of the same number
    make("CartPole-v1", 4).reset(seed=0)
    os.close(other)


@attack()
def collected_in_any_thread():
    stop = threading.Event()

    def collect():
        while not stop.is_set():
            gc.collect()

    collectors = [threading.Thread(target=collect) for _ in range(2)]
    for thread in collectors:
        thread.start()
    for _ in rounds(30):
        env = make("Synthetic-v0", 4, cost_us=500.0)
        env.myself = env
        env.async_reset(seed=0)
        env.recv()
        env.send(zeros(env), np.arange(4))
        del env
    stop.set()
    for thread in collectors:
        thread.join()


@attack(needs=("mujoco",))
def signals_while_hopper_is_let_go():
    signal.signal(signal.SIGALRM, lambda *_: gc.collect(0))
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        for _ in rounds(10):
            env = make("Hopper-v5", 8)
            env.myself = env
            env.async_reset(seed=0)
            env.recv()
            env.send(zeros(env), np.arange(8))
            del env
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
