"""Calls from a signal handler, from another thread, or between two lines of a call that still runs."""

import contextlib
import copy
import pickle
import random
import signal
import threading
import time

import numpy as np
from gymnasium.error import AlreadyPendingCallError, ClosedEnvironmentError, NoAsyncCallError, ResetNeeded
from harness import EFFORT, attack, note, rounds

import batchenv
from helpers.begun import begun
from helpers.hostile import Background, Complaints, at_line, clear, future, inside, make, same, signalled, slow, zeros

REFUSALS = (RuntimeError, ClosedEnvironmentError, ResetNeeded, NoAsyncCallError, AlreadyPendingCallError)

# ---- a call is refused, and changes nothing ------------------------------------------------------------------------


def mask(env):
    """Of the first lane."""
    chosen = np.zeros(env.num_envs, bool)
    chosen[0] = True
    return {"reset_mask": chosen}


# What a second caller may try while a first one is inside. None of these may change anything then.
CALLS = {
    "step": lambda env: env.step(zeros(env)),
    "reset": lambda env: env.reset(seed=99),
    "reset without seed": lambda env: env.reset(),
    "reset of some": lambda env: env.reset(seed=99, options=mask(env)),
    "reset with a list of seeds": lambda env: env.reset(seed=[7] * env.num_envs),
    "rollout": lambda env: env.rollout(zeros(env, steps=2)),
    "random rollout": lambda env: env.rollout(2, policy="random", seed=1),
    "send": lambda env: env.send(zeros(env), np.arange(env.num_envs)),
    "recv": lambda env: env.recv(0.01),
    "step_async": lambda env: env.step_async(zeros(env)),
    "step_wait": lambda env: env.step_wait(0.01),
    "async_reset": lambda env: env.async_reset(seed=99),
    "restore": lambda env: env.restore(env._kept_snapshot),
    "set_params": lambda env: env.set_params(end_probability=0.5),
    "set_params of some": lambda env: env.set_params(lanes=[0], cost_us=0.0),
    "set_attr": lambda env: env.set_attr("end_probability", 0.5),
    "close": lambda env: env.close(),
}
# What may also wait and then succeed, for it changes nothing.
LOOKS = {
    "snapshot": lambda env: env.snapshot(),
    "state": lambda env: env.state,
    "get_params": lambda env: env.get_params(),
    "get_attr": lambda env: env.get_attr("last"),
    "np_random": lambda env: env.np_random,
    "np_random_seed": lambda env: env.np_random_seed,
    "pickle": lambda env: pickle.dumps(env),
    "deepcopy": lambda env: copy.deepcopy(env),
    "render": lambda env: env.call("render_mode"),
    "fileno": lambda env: env.fileno(),
}


def prepared(seconds, flying):
    """A slow env after a few steps, with its lanes in flight or not."""
    env = begun(slow(0.0, lanes=5), seed=4)
    env.step(zeros(env) + 1)
    env._kept_snapshot = env.snapshot()
    env.step(zeros(env) + 2)
    env.set_params(cost_us=seconds * 1e6)
    if flying:
        env.send(zeros(env) + 3, np.arange(env.num_envs))
    return env


# What the first caller does: with lanes in flight or without.
FIRST = {
    "step": (False, lambda env: env.step(zeros(env))),
    "rollout": (False, lambda env: env.rollout(zeros(env, steps=2))),
    "recv": (True, lambda env: env.recv()),
    "reset": (True, lambda env: env.reset(seed=5)),
    "async_reset": (True, lambda env: env.async_reset(seed=5)),
    "snapshot": (True, lambda env: env.snapshot()),
    "state": (True, lambda env: {key: value for key, value in env.state.items()}),
    "set_params": (True, lambda env: env.set_params(end_probability=0.25)),
}


def finish(env, name):
    """What comes after the first caller's call: all is received, and goes on."""
    received = []
    if name in ("async_reset", "snapshot", "state", "set_params"):
        received.append(env.recv(30))
    env.set_params(cost_us=0.0)
    return [received, future(env), env.get_params(), env.np_random_seed]


def by_thread(env, first, call):
    """The second caller is another thread. Gives the first one's result and what the second one met."""
    running = inside(lambda: first(env))
    met = []
    try:
        call(env)
    except Exception as error:
        met.append(error)
    return running.result(), met


def by_handler(env, first, call):
    """The second caller is a signal handler of the first one's own thread."""
    met = []

    def handler():
        try:
            call(env)
        except Exception as error:
            met.append(error)

    return signalled(lambda: first(env), signal.SIGALRM, handler), met


def beside(way, *names):
    """Every call beside some first ones, compared with a twin whose first call was undisturbed."""
    complaints = Complaints()
    for name in names:
        flying, first = FIRST[name]
        twin = prepared(0.0, flying)
        expected = [first(twin), finish(twin, name)]
        for tried, call in {**CALLS, **LOOKS}.items():
            note(f"{tried} while {name}() runs")
            with complaints.about(f"{tried} while {name}() runs"):
                env = prepared(0.05, flying)
                result, met = way(env, first, call)
                if tried in CALLS:
                    assert met, "it was not refused"
                if met:
                    assert isinstance(met[0], REFUSALS), f"{type(met[0]).__name__}: {met[0]}"
                env.set_params(cost_us=0.0)
                if name != "snapshot":  # it has the params, cost_us as well
                    same(result, expected[0], "the first caller's result")
                same(finish(env, name), expected[1], "what came after")
    complaints.tell()


attack(name="any_call_of_a_thread_beside_step_and_rollout")(lambda: beside(by_thread, "step", "rollout"))
attack(name="any_call_of_a_thread_beside_recv")(lambda: beside(by_thread, "recv"))
attack(name="any_call_of_a_thread_beside_reset")(lambda: beside(by_thread, "reset", "async_reset"))
attack(name="any_call_of_a_thread_beside_other_waits")(lambda: beside(by_thread, "snapshot", "state", "set_params"))
attack(name="any_call_by_a_handler_of_recv")(lambda: beside(by_handler, "recv"))
attack(name="any_call_by_a_handler_of_reset")(lambda: beside(by_handler, "reset", "async_reset"))
attack(name="any_call_by_a_handler_of_other_waits")(lambda: beside(by_handler, "snapshot", "state", "set_params"))


def close_beside(first, flying, threads):
    """close() while a call runs, by a handler and by a thread: refused, and possible afterwards."""
    for way in (by_thread, by_handler):
        env = begun(slow(0.15, threads=threads))
        if flying:
            env.send(zeros(env), np.arange(4))
        _, met = way(env, first, lambda env: env.close())
        if way is by_thread:
            assert met and isinstance(met[0], RuntimeError), met
        if not env.closed:
            env.reset(seed=1)
        env.close()
        env.close()


attack(name="close_while_reset_waits")(lambda: close_beside(lambda env: env.reset(seed=1), True, 2))
attack(name="close_while_async_reset_waits")(lambda: close_beside(lambda env: env.async_reset(seed=1), True, 1))
attack(name="close_while_recv_waits")(lambda: close_beside(lambda env: env.recv(), True, 2))


@attack(needs=("mujoco",))
def close_while_reset_waits_for_hopper():
    for _ in rounds(3):
        env = begun(make("Hopper-v5", 8, frame_skip=8000))
        env.send(zeros(env), np.arange(8))
        _, met = by_thread(env, lambda env: env.reset(seed=1), lambda env: env.close())
        assert met and isinstance(met[0], RuntimeError), met
        env.close()


@attack(needs=("procgen",))
def close_while_procgens_games_step():
    for lanes, call in (
        (3, lambda env: env.rollout(zeros(env, steps=1500))),
        (600, lambda env: env.reset(seed=2)),
    ):
        env, twin = (begun(make("procgen-coinrun-v0", lanes)) for _ in range(2))
        running = inside(lambda env=env, call=call: call(env))
        clear(env.close, RuntimeError, "one call at a time")
        running.result()
        call(twin)
        same(future(env), future(twin))
        env.close()
        clear(lambda env=env: env.step(zeros(env)), Exception, "closed")


@attack()
def a_refused_reset_loses_nothing():
    env = begun(slow(0.2))
    env.send(zeros(env), np.arange(4))
    waiting = inside(env.recv)
    for call in (env.reset, env.async_reset):
        try:
            call()
        except RuntimeError as error:
            assert "another thread" in str(error) or "one call at a time" in str(error), error
        else:
            raise AssertionError("a reset was not refused")
    assert sorted(waiting.result()[4]["env_id"]) == [0, 1, 2, 3]


@attack()
def each_lane_once_beside_resets():
    env = batchenv.make("Synthetic-v0", 64, batch_size=4, num_threads=2, cost_us=20.0, end_probability=0.0)
    env.async_reset(seed=0)
    stop = threading.Event()

    def resets():
        while not stop.is_set():
            try:
                env.reset()
            except RuntimeError as error:
                assert "one call at a time" in str(error), error
            time.sleep(random.random() * 0.002)

    other = Background(resets)
    end = time.monotonic() + 3
    while time.monotonic() < end:
        try:
            ids = env.recv(1)[4]["env_id"]
            assert len(set(ids)) == len(ids), f"a batch with lanes {ids}"
            env.send(zeros(env, len(ids)), ids)
        except RuntimeError as error:
            if "nothing in flight" in str(error) or "would never come" in str(error):
                with contextlib.suppress(RuntimeError):
                    env.async_reset()
    stop.set()
    other.result()


# ---- storms --------------------------------------------------------------------------------------------------------


def storm(env, seconds, closing=False):
    """Threads that call everything, at random. Only refusals come."""
    env.reset(seed=0)
    env._kept_snapshot = env.snapshot()
    parameter = next((name for name in ("end_probability", "gravity") if name in env.get_params()), None)
    calls = {**CALLS, **LOOKS}
    for name in ("close", "set_params", "set_params of some", "set_attr", "get_attr", "pickle", "deepcopy"):
        if name != "pickle":
            calls.pop(name, None)
    calls["masked recv"] = lambda env: env.recv(0)
    if parameter == "end_probability":
        calls["set_params"] = lambda env: env.set_params(end_probability=random.random() / 10)
    end = time.monotonic() + seconds
    refused = (*REFUSALS, TimeoutError, ValueError)
    strange = []

    def work():
        while time.monotonic() < end and not strange:
            name = random.choice(list(calls))
            try:
                result = calls[name](env)
                if name == "recv":
                    assert len(set(result[4]["env_id"])) == len(result[4]["env_id"])
            except refused as error:
                if "NoneType" in str(error) or (isinstance(error, ValueError) and "snapshot" not in str(error)):
                    strange.append((name, repr(error)))
            except BaseException as error:
                strange.append((name, repr(error)))

    workers = [Background(work) for _ in range(3)]
    if closing:
        time.sleep(seconds / 2)
        while not env.closed:
            with contextlib.suppress(RuntimeError):
                env.close()
    for worker in workers:
        worker.result()
    assert not strange, strange
    if not closing:
        env.reset(seed=0)
        env.step(zeros(env))


attack(name="storm_on_slow_lanes")(lambda: storm(slow(0.001, lanes=16), 2))
attack(name="storm_on_cartpole")(lambda: storm(make("CartPole-v1", 5000), 2))
attack(name="storm_on_normalized_cartpole")(lambda: storm(make("normalized CartPole-v1", 500), 2))
attack(name="storm_on_hopper", needs=("mujoco",))(lambda: storm(make("Hopper-v5", 8), 2))
attack(name="storm_on_joined_hopper", needs=("mujoco",))(lambda: storm(make("joined Hopper-v5", 8), 2))
attack(name="storm_on_joined_cartpole")(lambda: storm(make("joined CartPole-v1", 500), 2))
attack(name="storm_on_pong", needs=("ale",))(lambda: storm(make("Pong-v5", 2), 1))
attack(name="storm_on_procgen", needs=("procgen",))(lambda: storm(make("procgen-coinrun-v0", 4), 2))
attack(name="storm_on_a_game_for_two", needs=("ale",))(lambda: storm(make("players", 2), 1))


@attack()
def storms_that_end_by_close():
    for _ in range(4):
        storm(slow(0.001, lanes=8), 0.5, closing=True)
        storm(make("normalized CartPole-v1", 500), 0.3, closing=True)


@attack(needs=("mujoco",))
def storms_on_hopper_that_end_by_close():
    for _ in range(4):
        storm(make("Hopper-v5", 8), 0.5, closing=True)


# ---- between any two lines of a call -------------------------------------------------------------------------------

INTERRUPTED = {
    "step": lambda env: env.step(zeros(env)),
    "reset": lambda env: env.reset(seed=5),
    "reset of some": lambda env: env.reset(seed=6, options=mask(env)),
    "rollout": lambda env: env.rollout(zeros(env, steps=2)),
    "random rollout": lambda env: env.rollout(2, policy="random"),
    "send and recv": lambda env: (env.send(zeros(env), np.arange(env.num_envs)), env.recv(10)),
    "step_async and step_wait": lambda env: (env.step_async(zeros(env)), env.step_wait(10)),
    "async_reset": lambda env: (env.async_reset(seed=5), env.recv(10)),
    "snapshot and restore": lambda env: env.restore(env.snapshot()),
    "set_params": lambda env: env.set_params(**{next(iter(env.get_params())): next(iter(env.get_params().values()))}),
    "set_attr": lambda env: env.set_attr(next(iter(env.get_params())), next(iter(env.get_params().values()))),
    "get_attr": lambda env: env.get_attr("state"),
    "state": lambda env: env.state,
    "np_random": lambda env: env.np_random,
    "render": lambda env: env.render(),
    "pickle": lambda env: pickle.dumps(env),
    "close": lambda env: env.close(),
}
FAMILIES = (
    ("CartPole-v1", {}),
    ("normalized CartPole-v1", {"autoreset_mode": "SameStep", "max_episode_steps": 1}),
    ("FrozenLake-v1", {"render_mode": "ansi"}),
)
JOINED = (("joined CartPole-v1", {"autoreset_mode": "SameStep", "max_episode_steps": 1}),)


def between_lines(happening, allowed, after, families=FAMILIES, stride=1):
    """`happening(env)` before each line of batchenv's Python code that a call executes, one after the other; or before
    every `stride`-th line, where an env takes long to make."""
    stride = max(1, round(stride / EFFORT))
    complaints = Complaints()
    for name, options in families:
        for tried, call in INTERRUPTED.items():
            if tried == "render" and "render_mode" not in options:
                continue
            number = 0
            while True:
                env = begun(make(name, 3, num_threads=1, **options))
                place = f"{name}: {tried}, line event {number}"
                note(place)
                try:
                    with at_line(number, lambda env=env: happening(env)) as seen:
                        call(env)
                except allowed as error:
                    if "NoneType" in str(error):
                        complaints.refused(f"{place} {seen}", lambda error=error: error, ValueError)
                except BaseException as error:
                    with complaints.about(f"{place} {seen}"):
                        raise AssertionError(f"{type(error).__name__}: {error}") from error
                if not seen:
                    break
                with complaints.about(f"afterwards, {place} {seen}"):
                    after(env, name, options)
                number += stride
    complaints.tell()


def quietly_close(env):
    """By a handler: what it gets told is its own affair."""
    with contextlib.suppress(RuntimeError):
        env.close()


def closed_or_fine(env, name, options):
    """Either it is closed, and says so, or it works."""
    if env.closed:
        try:
            env.step(None)
        except ClosedEnvironmentError:
            return
        raise AssertionError("a closed env took a step")
    env.reset(seed=0)
    env.step(zeros(env))
    env.close()


attack(name="close_between_any_two_lines")(lambda: between_lines(quietly_close, REFUSALS, closed_or_fine))
attack(name="close_between_any_two_lines_of_joined_cartpole")(
    lambda: between_lines(quietly_close, REFUSALS, closed_or_fine, JOINED, 2)
)
attack(name="close_between_any_two_lines_of_hopper", needs=("mujoco",))(
    lambda: between_lines(quietly_close, REFUSALS, closed_or_fine, [("Hopper-v5", {"frame_skip": 1})], 4)
)
attack(name="close_between_any_two_lines_of_a_game_for_two", needs=("ale",))(
    lambda: between_lines(quietly_close, REFUSALS, closed_or_fine, [("players", {"noop_max": 0})], 40)
)


class Interrupt(BaseException):
    """As KeyboardInterrupt: anywhere."""


def interrupt(env):
    """As Ctrl-C does."""
    raise Interrupt


def works_again(env, name, options):
    """After an interruption: it is closed, or once reset it does what it always did."""
    if env.closed:
        return
    rows = env.reset(seed=8)[0]
    if env.normalizer is None:  # its moments have counted what was interrupted
        twin = make(name, 3, num_threads=1, **options)
        same(rows, twin.reset(seed=8)[0])
        same(env.step(zeros(env))[:4], twin.step(zeros(env))[:4])
    env.close()


attack(name="interrupted_between_any_two_lines")(lambda: between_lines(interrupt, (Interrupt, *REFUSALS), works_again))
attack(name="interrupted_between_any_two_lines_of_joined_cartpole")(
    lambda: between_lines(interrupt, (Interrupt, *REFUSALS), works_again, JOINED, 2)
)
attack(name="interrupted_between_any_two_lines_of_hopper", needs=("mujoco",))(
    lambda: between_lines(interrupt, (Interrupt, *REFUSALS), works_again, [("Hopper-v5", {"frame_skip": 1})], 4)
)


# ---- hooks that call back ------------------------------------------------------------------------------------------


class Calls:
    """An array whose conversion calls the env."""

    def __init__(self, call, value):
        self.call, self.value, self.errors = call, value, []

    def __array__(self, dtype=None, copy=None):
        try:
            self.call()
        except REFUSALS as error:
            self.errors.append(error)
        return np.array(self.value, dtype)


def callbacks(name, uses=("step", "send", "rollout")):
    """Actions whose conversion calls every method of the env."""
    for tried, call in {**CALLS, **LOOKS}.items():
        for use in uses:
            note(f"{tried} inside of {use}'s actions")
            env = begun(make(name, 3, num_threads=1))
            env._kept_snapshot = env.snapshot()
            if tried in ("set_params", "set_params of some", "set_attr", "get_attr"):
                continue
            actions = Calls(lambda env=env, call=call: call(env), zeros(env, steps=2 if use == "rollout" else None))
            try:
                if use == "send":
                    env.send(actions, np.arange(3))
                    env.recv(10)
                else:
                    getattr(env, use)(actions)
            except REFUSALS:
                pass
            except TimeoutError:
                pass
            if not env.closed:
                env.reset(seed=0)
                env.step(zeros(env))


attack(name="actions_that_call_the_env")(lambda: callbacks("CartPole-v1"))
attack(name="actions_that_call_a_normalized_env")(lambda: callbacks("normalized CartPole-v1"))
attack(name="actions_that_call_hopper", needs=("mujoco",))(lambda: callbacks("Hopper-v5", ("rollout",)))
attack(name="actions_that_call_joined_cartpole")(lambda: callbacks("joined CartPole-v1"))
attack(name="actions_that_call_a_game_for_two", needs=("ale",))(lambda: callbacks("players", ("send",)))


@attack()
def a_thousand_signals_a_second():
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        results = []
        for one in (slow(0.002, lanes=3), slow(0.0, lanes=3)):
            one.reset(seed=0)
            one.send(zeros(one), np.arange(3))
            results.append([one.recv(), one.step(zeros(one)), one.rollout(zeros(one, steps=3)), one.reset(seed=3)])
        same(*results)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
