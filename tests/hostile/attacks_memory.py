"""Memory that cannot be had, in any call."""

import array
import ctypes
import gc
import warnings

import numpy as np
from gymnasium.error import ResetNeeded
from harness import EFFORT, attack, note, rounds

import batchenv
from helpers.begun import begun
from helpers.hostile import Complaints, FailingArrays, clear, forked, future, little_memory, make, same, slow, zeros

BIG = 400_000  # lanes of CartPole: arrays of megabytes, which come from the system one by one


@attack(needs=("little memory",))
def recv_without_memory_loses_nothing():
    env, twin = (make("CartPole-v1", BIG, num_threads=1) for _ in range(2))
    for one in (env, twin):
        one.reset(seed=0)
        one.send(zeros(one), np.arange(BIG))
    kept = [env.recv()]
    env.send(zeros(env), np.arange(BIG))
    with little_memory():
        refusals = 0
        for _ in range(3):
            try:
                kept.append(env.recv())
            except MemoryError:
                refusals += 1
    assert refusals, "memory was to be had"
    if len(kept) == 1:
        kept.append(env.recv())
    same(kept[0][0], twin.recv()[0])
    twin.send(zeros(twin), np.arange(BIG))
    same(kept[1][0], twin.recv()[0])


def without_memory(call, lanes=BIG, **options):
    """The call has no memory: MemoryError, and afterwards the env does what a twin does whose call never was."""
    env, twin = (make("CartPole-v1", lanes, num_threads=1, **options) for _ in range(2))
    for one in (env, twin):
        one.reset(seed=0)
        one.step(zeros(one))
    kept = [env.step(zeros(env)) for _ in range(3)]  # no spare arrays
    for _ in range(3):
        twin.step(zeros(twin))
    gc.collect()
    with little_memory():
        clear(lambda: call(env), MemoryError)
    same(future(env, 2), future(twin, 2))
    del kept


attack(name="step_without_memory", needs=("little memory",))(
    lambda: without_memory(lambda env: [env.step(zeros(env)) for _ in range(1)], lanes=1_000_000)
)
attack(name="reset_without_memory", needs=("little memory",))(lambda: without_memory(lambda env: env.reset(seed=1)))
attack(name="rollout_without_memory", needs=("little memory",))(
    lambda: without_memory(lambda env: env.rollout(50, policy="random", seed=1))
)
attack(name="snapshot_without_memory", needs=("little memory",))(lambda: without_memory(lambda env: env.snapshot()))
attack(name="async_reset_without_memory", needs=("little memory",))(
    lambda: without_memory(lambda env: env.async_reset(seed=1))
)
attack(name="send_without_memory", needs=("little memory",))(
    lambda: without_memory(lambda env: env.send(zeros(env), np.arange(env.num_envs)))
)


@attack(error=MemoryError, needs=("little memory",))
def make_without_memory():
    with little_memory(1 << 20):
        make("CartPole-v1", 10_000_000)


@attack(error=MemoryError, needs=("mujoco", "little memory"))
def make_hopper_without_memory():
    make("Hopper-v5", 1).reset(seed=0)
    with little_memory(64 << 20):
        make("Hopper-v5", 200_000)


@attack(error=MemoryError, needs=("ale", "little memory"))
def make_pong_without_memory():
    make("Pong-v5", 1).reset(seed=0)
    with little_memory(64 << 20):
        make("Pong-v5", 20_000)


attack(
    name="make_more_of_pong_than_this_machine_holds",
    error=MemoryError,
    words=("lanes", "GB"),
    needs=("ale", "linux"),
    limit=20,
)(lambda: make("Pong-v5", 2**31 - 1))


@attack(needs=("ale", "little memory"))
def make_pong_again_and_again_without_memory():
    make("Pong-v5", 1).reset(seed=0)
    for megabytes in range(0, 60, 3):
        note(f"{megabytes} MB")
        with little_memory(megabytes << 20):
            try:
                make("Pong-v5", 60, num_threads=1).reset(seed=0)
            except MemoryError:
                continue


@attack(needs=("ale", "little memory"))
def reset_and_step_pong_without_memory():
    env = make("Pong-v5", 12)
    with little_memory():
        for call in (lambda: env.reset(seed=0), lambda: env.step(zeros(env)), lambda: env.rollout(zeros(env, steps=9))):
            try:
                call()
            except (MemoryError, RuntimeError, ResetNeeded) as error:
                told = "workers" in str(error) or "memory" in str(error)
                assert isinstance(error, (MemoryError, ResetNeeded)) or told, error
    env.reset(seed=0)
    env.step(zeros(env))


class Pieces:
    """All memory that can be had, in pieces of C's malloc, from 1 MB down to 1 kB."""

    def __init__(self):
        libc = ctypes.CDLL(None)
        self._malloc, self._free = libc.malloc, libc.free
        self._malloc.restype, self._malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        self._free.argtypes = [ctypes.c_void_p]
        self._addresses, self.count = array.array("Q", bytes(8 * 10**6)), 0

    def take(self):
        """Takes what there is."""
        for size in (1 << 20, 1 << 14, 1 << 10):
            while address := self._malloc(size):
                self._addresses[self.count] = address
                self.count += 1

    def give(self, count):
        """Gives so many of the pieces back, or as many as there are."""
        for _ in range(min(count, self.count)):
            self.count -= 1
            self._free(self._addresses[self.count])


@attack(error=MemoryError, needs=("procgen", "little memory"))
def make_procgen_without_memory():
    make("procgen-coinrun-v0", 1).reset(seed=0)
    with little_memory(64 << 20):
        make("procgen-coinrun-v0", 20_000)


attack(
    name="make_more_of_procgen_than_this_machine_holds",
    error=MemoryError,
    words=("lanes", "GB"),
    needs=("procgen", "linux"),
)(lambda: make("procgen-coinrun-v0", 2**31 - 1))


@attack(needs=("procgen", "little memory"))
def load_procgens_images_without_memory():
    """Each child has a little more memory: MemoryError, and in the end they load."""

    def loads(megabytes):
        with little_memory(megabytes << 20):
            try:
                make("procgen-coinrun-v0", 1, num_threads=1).reset(seed=0)
            except MemoryError as error:
                assert "Procgen" in str(error) and megabytes < 500, error
            else:
                assert megabytes > 300, "there was more memory"

    for megabytes in range(280, 520, 24):
        note(f"{megabytes} MB")
        forked(lambda megabytes=megabytes: loads(megabytes))


@attack(needs=("procgen", "little memory"))
def make_procgen_again_and_again_without_memory():
    make("procgen-coinrun-v0", 1).reset(seed=0)
    for megabytes in range(0, 60, 3):
        for game in ("coinrun", "caveflyer", "starpilot"):
            note(f"{game}, {megabytes} MB")
            with little_memory(megabytes << 20):
                try:
                    make(f"procgen-{game}-v0", 60).reset(seed=0)
                except (MemoryError, batchenv.LaneError, RuntimeError) as error:
                    told = "workers" in str(error) or "memory" in str(error)
                    assert isinstance(error, (MemoryError, batchenv.LaneError)) or told, error


@attack(needs=("procgen", "little memory"))
def reset_and_step_procgen_without_memory():
    """Memory is used up but for a few pieces. The lanes that it is missing for are told, and the process goes on."""
    for game in ("coinrun", "bigfish", "maze", "ninja"):
        env = begun(make(f"procgen-{game}-v0", 12))
        failures, messages = 0, [None] * 9
        actions, out = zeros(env), env.step(zeros(env))[:4]
        calls = [lambda e=env, a=actions, o=out: e.step(a, out=o)] * 200 + [lambda e=env: e.reset(seed=0)] * 5
        for spare in (0, 10, 100):
            pieces = Pieces()
            with little_memory():
                pieces.take()
                pieces.give(spare)
                for call in calls:
                    try:
                        call()
                    except (MemoryError, ResetNeeded):
                        failures += 1
                    except RuntimeError as error:
                        messages[failures % 9] = error.args[0]
                        failures += 1
                pieces.give(pieces.count)
        note(f"{game}: {failures} failures")
        assert failures and all("memory" in told or "workers" in told for told in messages if told), messages
        twin = make(f"procgen-{game}-v0", 12)
        for one in (env, twin):
            one.reset(seed=0)
        same(future(env)[0], future(twin)[0])


@attack(needs=("mujoco", "little memory"))
def models_without_memory():
    env = begun(make("Hopper-v5", 200))
    twin = begun(make("Hopper-v5", 200))
    failed = False
    with little_memory():
        try:
            env.set_params(gravity=np.linspace([0, 0, -9], [0, 0, -1], 200))
        except Exception as error:  # MuJoCo has errors of its own
            assert "memory" in str(error).lower() or isinstance(error, MemoryError), repr(error)
            failed = True
    if failed:
        same(future(env, 2), future(twin, 2))


# ---- the n-th array ------------------------------------------------------------------------------------------------


def prepare(name, **options):
    """An env that has taken a few steps, whose results are held."""
    env = begun(make(name, 4, num_threads=1, **options), seed=1)
    kept = [env.step(zeros(env)) for _ in range(2)]
    env.send(zeros(env), np.arange(4))
    return env, kept, env.snapshot()


CALLS = {
    "recv": lambda env, snapshot: env.recv(),
    "reset": lambda env, snapshot: env.reset(seed=9),
    "async_reset": lambda env, snapshot: env.async_reset(seed=9),
    "set_params": lambda env, snapshot: env.set_params(**dict(list(env.get_params().items())[:1])),
    "state": lambda env, snapshot: env.state,
    "snapshot": lambda env, snapshot: env.snapshot(),
}
IDLE_CALLS = {
    "step": lambda env, snapshot: env.step(zeros(env)),
    "rollout": lambda env, snapshot: env.rollout(zeros(env, steps=3)),
    "random rollout": lambda env, snapshot: env.rollout(3, policy="random", seed=5),
    "send": lambda env, snapshot: env.send(zeros(env), np.arange(4)),
    "reset of some": lambda env, snapshot: env.reset(seed=9, options={"reset_mask": np.arange(4) < 2}),
    "restore": lambda env, snapshot: env.restore(snapshot),
}


AT_ONCE = ("step", "rollout", "random rollout")  # what is missing after the lanes were stepped comes too late


def any_array(name, stride=1, **options):
    """Each allocation of an array's memory in each call fails, one after the other: MemoryError, and the same call
    made again gives what it would have given. After those of AT_ONCE the env can be reset, and works."""
    arrays = FailingArrays()
    complaints = Complaints()
    for tried, call in {**CALLS, **IDLE_CALLS}.items():
        exact = tried not in AT_ONCE and not name.startswith("normalized")  # whose moments may have counted twice

        def start(tried=tried):
            env, kept, snapshot = prepare(name, **options)
            if tried in IDLE_CALLS:
                kept.append(env.recv())
            return env, kept, snapshot

        def rest(env, result, tried=tried):
            if tried in ("async_reset", "send", "set_params", "state", "snapshot"):
                result = [bytes(result) if tried == "snapshot" else result, env.recv(10)]
            return [result, future(env, 2)]

        twin, held, snapshot = start()
        expected = rest(twin, call(twin, snapshot))
        again = [twin.reset(seed=3), future(twin, 2)]
        for number in range(0, 500, max(1, round(stride / EFFORT))):
            note(f"{tried}, array {number}")
            with complaints.about(f"{tried}, array {number}"):
                env, kept, snapshot = start()
                result, failed = None, False
                with arrays.at(number):
                    try:
                        result = call(env, snapshot)
                    except MemoryError:
                        failed = True
                if not arrays.failed:
                    break
                if failed and tried not in AT_ONCE:
                    result = call(env, snapshot)
                if exact:
                    same(rest(env, result), expected)
                elif tried in ("recv", *AT_ONCE):
                    future(env, 2)
                else:
                    rest(env, result)
                done = [env.reset(seed=3), future(env, 2)]
                if not name.startswith("normalized"):
                    same(done, again)
            del env, kept
        del held
    complaints.tell()


attack(name="any_array_of_cartpole_fails")(lambda: any_array("CartPole-v1"))
attack(name="any_array_of_cartpole_with_all_transforms_fails")(
    lambda: any_array("CartPole-v1", autoreset_mode="SameStep", max_episode_steps=3, frame_stack=2)
)
attack(name="any_array_of_normalized_cartpole_fails")(
    lambda: any_array("normalized CartPole-v1", autoreset_mode="SameStep", max_episode_steps=3)
)
attack(name="any_array_of_slow_lanes_fails")(lambda: any_array("Synthetic-v0", cost_us=0.0))
attack(name="any_array_of_joined_cartpole_fails")(
    lambda: any_array("joined CartPole-v1", autoreset_mode="SameStep", max_episode_steps=3, frame_stack=2)
)
attack(name="any_array_of_hopper_fails", needs=("mujoco",))(lambda: any_array("Hopper-v5", 4, frame_skip=1))


@attack()
def any_array_of_a_new_env_fails():
    arrays = FailingArrays()
    batchenv.make("CartPole-v1", 4).close()
    for number in range(2000):
        note(f"array {number}")
        with arrays.at(number):
            try:
                env = batchenv.make("CartPole-v1", 4, num_threads=1, time_aware=True, gravity=np.arange(1.0, 5.0))
            except MemoryError:
                env = None
        if not arrays.failed:
            break
        if env is not None:
            env.reset(seed=0)


@attack(needs=("little memory",))
def workers_without_memory():
    for _ in rounds(2):
        env = begun(slow(0.0, lanes=64, threads=64))
        with little_memory(20 << 20):
            try:
                with warnings.catch_warnings():  # of fewer workers, which is what is to come
                    warnings.filterwarnings("ignore", message=".*64 workers were asked for", category=RuntimeWarning)
                    env.send(zeros(env), np.arange(64))
                env.recv()
            except (RuntimeError, MemoryError) as error:
                assert isinstance(error, MemoryError) or "workers" in str(error) or "memory" in str(error), error
        env.reset(seed=0)
        env.step(zeros(env))
