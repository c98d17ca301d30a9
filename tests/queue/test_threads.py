"""Threads: how many there can be, which floating-point mode they compute in, and what interrupts them."""

import ctypes
import platform
import signal
import sys
import threading
import time

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import batchenv
from helpers.begun import begun
from helpers.processes import run_python

linux = pytest.mark.skipif(sys.platform != "linux", reason="limits and signals as Linux has them")


# ---- threads that cannot be started ---------------------------------------------------------------------------------

FEW = """
import ctypes, os, resource, sys, threading, warnings
import numpy as np
import batchenv, batchenv.system.limits

batchenv.make("{id}", {lanes}, num_threads=1).reset(seed=0)
{limit}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    env = batchenv.make("{id}", {lanes}, num_threads={threads})
told = [str(w.message) for w in caught if w.category is RuntimeWarning]
assert len(told) == 1, told
assert "{threads} threads were asked for" in told[0] and "{name}" in told[0], told
assert f"only {{env.num_threads}} can be had" in told[0], told
assert 1 <= env.num_threads < {threads}, env.num_threads
env.reset(seed=0)
env._backend.core.force_parallel(True)
actions = np.zeros(env.action_space.shape, env.action_space.dtype)
expected = batchenv.make("{id}", {lanes}, num_threads=1)
expected.reset(seed=0)
env.reset(seed=0)
for _ in range(3):
    assert (env.step(actions)[0] == expected.step(actions)[0]).all()
assert (env.rollout(np.array([actions] * 5))[0] == expected.rollout(np.array([actions] * 5))[0]).all()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    env.send(actions, np.arange({lanes}))
    assert (env.recv()[0] == expected.step(actions)[0]).all()
env.close()
print("fine")
"""

AS = "resource.setrlimit(resource.RLIMIT_AS, (int(open('/proc/self/statm').read().split()[0]) * 4096 + (1 << 28),) * 2)"
# As root this limit does not hold: so not as root.
NPROC = """
if os.getuid() == 0:
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
resource.setrlimit(resource.RLIMIT_NPROC, (3, 3))
"""


@linux
@pytest.mark.parametrize("env_id, lanes", [("CartPole-v1", 65536), ("Synthetic-v0", 512)])
@pytest.mark.parametrize("name, limit, threads", [("RLIMIT_AS", AS, 500), ("RLIMIT_NPROC", NPROC, 9)])
def test_fewer_threads_than_asked_for(env_id, lanes, name, limit, threads, tmp_path):
    code = FEW.format(id=env_id, lanes=lanes, name=name, limit=limit, threads=threads)
    assert run_python(code, cwd=tmp_path).split() == ["fine"]


@linux
def test_stacks_that_cannot_be_had(tmp_path):
    code = FEW.format(id="CartPole-v1", lanes=65536, name="OMP_STACKSIZE=100G", limit=AS, threads=2)
    assert run_python(code, cwd=tmp_path, OMP_STACKSIZE="100G").split() == ["fine"]


@linux
def test_threads_of_another_thread(tmp_path):
    """OpenMP's threads belong to who calls: another thread's are new ones, for which there may be no room by then."""
    code = f"""
    import resource, threading
    import numpy as np
    import batchenv
    env = batchenv.make("CartPole-v1", 65536, num_threads=64)
    env.reset(seed=0)
    env._backend.core.force_parallel(True)
    actions = np.zeros(65536, np.int64)
    assert env.num_threads == 64
    env.step(actions)
    {AS.replace("28", "26")}
    seen = []
    thread = threading.Thread(target=lambda: seen.append(env.step(actions)[0]))
    thread.start()
    thread.join()
    env.step(actions)
    print(len(seen), seen[0].shape[0])
    """
    assert run_python(code, cwd=tmp_path).split() == ["1", "65536"]


@linux
@pytest.mark.skipif(len(batchenv._core.usable_cpus()) < 2, reason="needs two CPUs")
@pytest.mark.parametrize("torch_first", [False, True])
def test_openmp_that_binds_threads(torch_first, tmp_path):
    if torch_first:
        pytest.importorskip("torch")
    code = f"""
    import os, time
    {"import torch" if torch_first else ""}
    import batchenv, numpy as np
    env = batchenv.make("Synthetic-v0", 8, thread_affinity=0)
    print(batchenv.build_info()["max_threads"], env.num_threads)
    bound = os.sched_getaffinity(0)
    env = batchenv.make("Synthetic-v0", 8)
    env.reset(seed=0)
    env.async_reset()
    env.recv()
    masks = []
    for _ in range(500):  # on a busy machine, a worker may take its time to start
        if len(masks) < 2:
            time.sleep(0.02)
            masks = [os.sched_getaffinity(int(task)) for task in os.listdir("/proc/self/task")
                     if open(f"/proc/self/task/{{task}}/comm").read().startswith("batchenv-")]
    print(min(map(len, masks)), len(masks) >= 2, os.sched_getaffinity(0) == bound)
    """
    count = str(len(batchenv._core.usable_cpus()))
    told = run_python(code, cwd=tmp_path, OMP_PROC_BIND="close", OMP_PLACES="cores")
    assert told.split() == [count, count, count, "True", "True"]


# ---- floating-point modes -------------------------------------------------------------------------------------------

UPWARD, ZEROS = 0x5F80, 0x9FC0  # MXCSR: rounding up; subnormal numbers read and written as zeros


@pytest.fixture
def mode():
    """A function that sets this thread's MXCSR and returns what it was. In the end it is as it was before."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        pytest.skip("where MXCSR lies is known for glibc on x86-64")
    libm = ctypes.CDLL("libm.so.6")
    environment = ctypes.create_string_buffer(32)  # fenv_t: the x87's 28 bytes, then MXCSR

    def set_mode(bits=None):
        libm.fegetenv(environment)
        present = int.from_bytes(environment.raw[28:32], "little")
        if bits is not None:
            ctypes.memmove(ctypes.addressof(environment) + 28, bits.to_bytes(4, "little"), 4)
            libm.fesetenv(environment)
        return present

    before = set_mode()
    yield set_mode
    set_mode(before)


def trajectory(env_id, threads, how):
    """Bytes of what an env shows, with `how` called before anything that computes."""
    rng = np.random.default_rng(5)
    discrete = env_id in ("Acrobot-v1", "Synthetic-v0")
    drawn = [rng.integers(3, size=300) if discrete else rng.uniform(-1, 1, (300, 1)) for _ in range(30)]
    single = [actions if discrete else actions.astype(np.float32) for actions in drawn]
    how()
    env = batchenv.make(env_id, 300, num_threads=threads, reward_scale=0.1)
    env._backend.core.force_parallel(threads > 1)
    shown = [env.reset(seed=3)[0]]
    for k in range(30):
        actions = (drawn if k % 2 else single)[k]
        how()
        if k % 3 == 2:
            env.send(actions, np.arange(300))
            shown += env.recv()[:2]
        else:
            shown += env.step(actions)[:2]
        if k == 15 and "g" in env._backend.core.get_params():
            env.set_params(g=9.7)
    shown += env.rollout(20, policy="random", seed=1)[:2]
    shown += env.rollout(np.array(drawn))[:2]
    env.close()
    return b"".join(array.tobytes() for array in shown)


@pytest.mark.parametrize("env_id", ["Pendulum-v1", "Acrobot-v1", "MountainCarContinuous-v0", "Synthetic-v0"])
@pytest.mark.parametrize("bits", [UPWARD, ZEROS])
def test_results_do_not_depend_on_the_callers_mode(env_id, bits, mode):
    usual = mode()
    expected = trajectory(env_id, 1, lambda: None)
    for threads in (1, 2):

        def how():
            mode(bits)

        try:
            got = trajectory(env_id, threads, how)
            after = mode()
        finally:
            mode(usual)
        assert got == expected
        assert after & 0xFFC0 == bits & 0xFFC0  # the caller's own is as it was


# ---- Ctrl-C ---------------------------------------------------------------------------------------------------------


class Stop(Exception):
    pass


@pytest.fixture
def alarm():
    """alarm(seconds, raising): a signal whose handler raises Stop, or does nothing. Returns a list of its calls."""
    calls = []

    def start(seconds, raising=True):
        def handler(number, frame):
            calls.append(time.monotonic())
            if raising:
                raise Stop

        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, seconds, 0 if raising else seconds)
        return calls

    before = signal.getsignal(signal.SIGALRM)
    yield start
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def slow(lanes=400, threads=2, cost_us=50_000, **keywords):
    """Steps and resets of half a minute, if they are not interrupted."""
    return batchenv.make("Synthetic-v0", lanes, num_threads=threads, cost_us=cost_us, wait=True, **keywords)


def assert_interrupted(env):
    actions = np.zeros(env.action_space.shape, env.action_space.dtype)
    for call in (
        lambda: env.step(actions),
        lambda: env.send(actions, np.arange(env.num_envs)),
        lambda: env.rollout(2, policy="random"),
        lambda: env.snapshot(),
        lambda: env.snapshot([0]),
        lambda: env.reset(options={"reset_mask": np.arange(env.num_envs) == 0}),
    ):
        with pytest.raises(ResetNeeded, match="interrupted, and some lanes have done it, others have not"):
            call()


@linux
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("verb", ["step", "rollout", "long lanes"])
def test_signals_interrupt_slow_calls(verb, threads, alarm):
    env = slow(threads=threads) if verb != "long lanes" else slow(4, threads)
    env.reset(seed=1)
    saved = env.snapshot()
    actions = np.zeros(env.num_envs, np.int64)
    calls = alarm(0.2)
    with pytest.raises(Stop):
        if verb == "step":
            env.step(actions)
        else:
            env.rollout(500, policy="random", seed=1)
    assert len(calls) == 1
    assert_interrupted(env)
    env.restore(saved)
    env.set_params(cost_us=0)
    fresh = begun(batchenv.make("Synthetic-v0", env.num_envs, cost_us=0, num_threads=1), seed=1)
    assert (env.step(actions)[0] == fresh.step(actions)[0]).all()
    env.close()


@linux
def test_signals_interrupt_kernels(alarm):
    env = begun(batchenv.make("Acrobot-v1", 4096, num_threads=2), seed=1)
    out = tuple(np.empty(a.shape[1:], a.dtype) for a in env.rollout(1, policy="random")[:4])
    calls = alarm(0.2)
    with pytest.raises(Stop):
        env.rollout(20_000, policy="random", seed=1)
    assert len(calls) == 1
    assert_interrupted(env)
    observations, _ = env.reset(seed=4)
    fresh = batchenv.make("Acrobot-v1", 4096, num_threads=1)
    assert (observations == fresh.reset(seed=4)[0]).all()
    actions = np.zeros(4096, np.int64)
    assert (env.step(actions, out=out)[0] == fresh.step(actions)[0]).all()


@linux
def test_signals_interrupt_resets(alarm):
    env = begun(batchenv.make("Synthetic-v0", 50, num_threads=2))
    env.set_params(reset_us=50_000)
    alarm(0.2)
    with pytest.raises(Stop):
        env.reset(seed=1)
    assert_interrupted(env)
    env.close()


@linux
def test_handlers_that_do_not_raise_change_nothing(alarm):
    for threads in (1, 2):
        env = begun(slow(12, threads), seed=1)
        calls = alarm(0.1, raising=False)
        got = env.rollout(np.zeros((3, 12), np.int64))
        assert len(calls) > 2
        fresh = begun(batchenv.make("Synthetic-v0", 12, cost_us=0, num_threads=1), seed=1)
        assert (got[0] == fresh.rollout(np.zeros((3, 12), np.int64))[0]).all()


@linux
def test_an_interrupted_call_in_another_thread_goes_on():
    """Signals are for the main thread: a call in another one never sees them."""
    env = begun(slow(20, 2), seed=1)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(env.step(np.zeros(20, np.int64))))
    before = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(Stop))
    try:
        thread.start()
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Stop):
            while thread.is_alive():
                time.sleep(0.01)
        thread.join()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert len(seen) == 1
    env.step(np.zeros(20, np.int64))


@linux
def test_signals_are_looked_at_while_many_lanes_are_made(alarm):
    """Not once, at the end: signals that come again and again are seen one by one."""
    pytest.importorskip("ale_py")
    calls = alarm(0.1, raising=False)
    handler = signal.getsignal(signal.SIGALRM)

    def third(number, frame):
        handler(number, frame)
        if len(calls) == 3:
            raise Stop

    signal.signal(signal.SIGALRM, third)
    with pytest.raises(Stop):
        batchenv.make("Pong-v5", 3000)
    assert len(calls) == 3


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
    told = run_python(code)
    assert "nothing lost" in told
    assert float(told.split()[2]) < 1.5, "not before the step was over"
