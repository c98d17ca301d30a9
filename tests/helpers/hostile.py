"""What several attacks use: slow lanes, calls in other threads, forks, limits, comparisons."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import linecache
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import batchenv

MUJOCO = {"frame_skip": 50}  # a step takes about a millisecond


def make(name: str, lanes: int, **options: Any):
    """An env of two threads; `name` is an id, "players" (a game for two), "normalized ID", or "joined ID": the
    lanes are parts of one batch, as several tasks are."""
    options = {"num_threads": 2, **options}
    joined, name = name.startswith("joined "), name.removeprefix("joined ")
    if name == "players":
        name, options = "Pong-v5", {"players": 2, **options}
    if name.startswith("normalized "):
        name, options = name.removeprefix("normalized "), {"normalize_observation": True, **options}
    if name in ("Hopper-v5", "Ant-v5"):
        options = {**MUJOCO, **options}
    if name == "Synthetic-v0":
        options = {"cost_us": 1e3, "wait": True, **options}
    if name.startswith("procgen-"):
        warnings.filterwarnings("ignore", message=".*Procgen's library loads its images")  # printed, it would be wrong
    if joined:
        parts = next(count for count in range(2, lanes + 1) if lanes % count == 0)
        return batchenv.make([name] * parts, lanes, **options)
    return batchenv.make(name, lanes, **options)


def core_of(env: Any):
    """The C core's object that holds the env's lanes."""
    return env._backend.joined if hasattr(env._backend, "joined") else env._backend.core


def slow(seconds: float, lanes: int = 4, threads: int = 2, **options: Any):
    """An env whose lanes sleep through steps of so many seconds, without using the CPU."""
    options = {"end_probability": 0.0, **options}
    return batchenv.make("Synthetic-v0", lanes, num_threads=threads, cost_us=seconds * 1e6, wait=True, **options)


def zeros(env: Any, lanes: int | None = None, steps: int | None = None):
    """Actions 0 for some lanes, and for some steps."""
    shape = (env.num_envs if lanes is None else lanes, *env.single_action_space.shape)
    return np.zeros(shape if steps is None else (steps, *shape), env.single_action_space.dtype)


def same(a: Any, b: Any, what: str = "results") -> None:
    """Asserts that two results are equal, bit for bit."""
    if isinstance(a, (tuple, list)) and not isinstance(a, np.ndarray):
        assert len(a) == len(b), f"{what}: {len(a)} and {len(b)} parts"
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{what}[{k}]")
    elif isinstance(a, dict):
        assert a.keys() == b.keys(), f"{what}: keys {sorted(a)} and {sorted(b)}"
        for key in a:
            if key not in ("t", "frame_number"):  # seconds; what a game counts over all of its episodes
                same(a[key], b[key], f"{what}[{key!r}]")
    elif isinstance(a, np.ndarray) and a.dtype != object:
        assert a.dtype == b.dtype and a.shape == b.shape, f"{what}: {a.dtype}{a.shape} and {b.dtype}{b.shape}"
        assert a.tobytes() == b.tobytes(), f"{what} differ:\n{a}\n{b}"
    elif isinstance(a, np.ndarray):
        same(list(a), list(b), what)
    else:
        assert a is b or a == b, f"{what} differ: {a!r} and {b!r}"


def future(env: Any, steps: int = 5) -> list[Any]:
    """What an env does from now on, everything received: steps, and a snapshot at the end."""
    rng = np.random.default_rng(0)
    results = []
    for _ in range(steps):
        if env.single_action_space.shape:
            actions = rng.uniform(-0.3, 0.3, env.action_space.shape).astype(np.float32)
        else:
            actions = rng.integers(env.single_action_space.n, size=env.num_envs)
        results.append(env.step(actions))
    return [results, bytes(env.snapshot())]


def clear(call: Callable[[], Any], error: Any, *words: str) -> BaseException:
    """Asserts that a call raises one of these exceptions with all these words, and returns it."""
    try:
        result = call()
    except error as refusal:
        lacking = [word for word in words if word.lower() not in str(refusal).lower()]
        assert not lacking, f"the message does not say {lacking}: {type(refusal).__name__}: {refusal}"
        return refusal
    except BaseException as other:
        raise AssertionError(f"{type(other).__name__} instead of {error}: {other}") from other
    raise AssertionError(f"nothing was raised: {str(result)[:300]}")


class Complaints:
    """Collects what is wrong with many refusals, so that one look shows them all."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def refused(self, what: str, call: Callable[[], Any], error: Any, *words: str) -> None:
        """As `clear`."""
        with self.about(what):
            clear(call, error, *words)

    def each(self, values: Any, call: Callable[[Any], Any], *words: str) -> None:
        """Each of the values is refused, with these words."""
        for value in values:
            self.refused(f"{words[0]}: {value!r}", lambda value=value: call(value), (TypeError, ValueError), *words)

    @contextlib.contextmanager
    def about(self, what: str) -> Iterator[None]:
        """Takes down what is raised inside."""
        try:
            yield
        except Exception as problem:
            self._found.append(f"{what:.100}: {type(problem).__name__}: {problem}")

    def tell(self) -> None:
        """AssertionError with all complaints, if there are any."""
        assert not self._found, f"{len(self._found)} complaints:\n" + "\n".join(self._found)


# ---- threads -----------------------------------------------------------------------------------------------------


class Background:
    """A call in a thread of its own."""

    def __init__(self, call: Callable[[], Any]):
        self._call = call
        self.value: Any = None
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.value = self._call()
        except BaseException as error:
            self.error = error

    @property
    def running(self) -> bool:
        """Whether the call goes on."""
        return self._thread.is_alive()

    def result(self, seconds: float = 60) -> Any:
        """What the call returned; raises what it raised."""
        self._thread.join(seconds)
        assert not self._thread.is_alive(), f"a call still runs after {seconds} s"
        if self.error is not None:
            raise self.error
        return self.value


@contextlib.contextmanager
def no_switches() -> Iterator[None]:
    """A thread runs on until it lets go of the interpreter's lock itself, as calls do that wait or work in C. (The
    collector would let go of it as well, by destroying envs.)"""
    before = sys.getswitchinterval()
    collects = gc.isenabled()
    sys.setswitchinterval(100)
    gc.disable()
    try:
        yield
    finally:
        sys.setswitchinterval(before)
        if collects:
            gc.enable()


def _let_others_run() -> None:
    """A call may let go of the interpreter's lock for a moment (NumPy does, to fill an array) before it begins to work:
    it gets the lock back a few times."""
    for _ in range(5):
        time.sleep(0.002)


def inside(call: Callable[[], Any]) -> Background:
    """The call in a thread, once it is where other threads may run: waiting or working in C."""
    begins = threading.Event()

    def announced() -> Any:
        begins.set()
        return call()

    with no_switches():
        running = Background(announced)
        begins.wait()
        _let_others_run()
    assert running.running, "the call was over at once"
    return running


def signalled(call: Callable[[], Any], number: int, handler: Callable[[], Any], after: float = 0.0) -> Any:
    """What the call returns while a signal arrives, `after` seconds after it began to wait or to work in C."""
    begins = threading.Event()

    def send() -> None:
        begins.wait()
        _let_others_run()
        time.sleep(after)
        os.kill(os.getpid(), number)

    before = signal.signal(number, lambda *_: handler())
    sender = Background(send)
    try:
        with no_switches():
            begins.set()
            return call()
    finally:
        sender.result()
        signal.signal(number, before)


@contextlib.contextmanager
def at_line(number: int, happening: Callable[[], Any], folder: str = "") -> Iterator[list[str]]:
    """Has `happening` called before the `number`-th line of batchenv's Python code that is executed inside.

    Gives a list that will have that line, or nothing if fewer were executed.
    """
    root = os.path.join(os.path.dirname(batchenv.__file__), folder)
    seen: list[str] = []
    left = number

    def place(frame: Any) -> tuple[str, int]:
        return frame.f_code.co_filename, frame.f_lineno

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(root):
            return None
        # Not at `with`, which comes once more where its block ends, nor at `try`: no signal is answered there.
        if event == "line" and not seen and not linecache.getline(*place(frame)).lstrip().startswith(("with ", "try:")):
            left -= 1
            if left < 0:
                seen.append("{}:{}".format(*place(frame)))
                happening()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield seen
    finally:
        sys.settrace(before)


# ---- processes ---------------------------------------------------------------------------------------------------


def forked(work: Callable[[], Any], seconds: float = 30) -> None:
    """Does `work` in a forked child, which has to end in time and well."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(status)
    await_child(pid, seconds)


def await_child(pid: int, seconds: float = 30) -> None:
    """Asserts that a child ends with status 0 in time."""
    end = time.monotonic() + seconds
    while (ended := os.waitpid(pid, os.WNOHANG))[0] == 0:
        if time.monotonic() > end:
            os.kill(pid, signal.SIGABRT if faulthandler.is_enabled() else signal.SIGKILL)
            os.waitpid(pid, 0)
            raise AssertionError(f"the forked child hangs: not ended after {seconds} s")
        time.sleep(0.005)
    code = os.waitstatus_to_exitcode(ended[1])
    assert code == 0, f"the forked child ended with {code}"


# ---- limits ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def little_memory(more: int = 0) -> Iterator[None]:
    """No more address space than now, and `more` bytes."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as file:
        present = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (present + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def few_threads(more: int) -> None:
    """From now on no more than `more` threads can be started by this thread and those it starts.

    The limit counts the threads of a real user, and holds for neither root nor who may go past limits. A process of
    root's therefore becomes a real user of its own; its effective user stays root, so that every file can still be
    read.
    """
    import resource

    present = len(os.listdir("/proc/self/task"))
    if os.geteuid() == 0:
        stranger = 1_000_000 + os.getpid()  # nobody else's, so that only our threads are counted
        os.setresuid(stranger, 0, 0)
        _give_up_capabilities(21, 24)  # CAP_SYS_ADMIN, CAP_SYS_RESOURCE
    else:
        assert more == 0, "others of this user's threads would be counted, too"
        present = 1
    resource.setrlimit(resource.RLIMIT_NPROC, (present + more, present + more))


def _give_up_capabilities(*numbers: int) -> None:
    """The calling thread, and those that it starts, lose these capabilities (capabilities(7))."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this thread
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable, for capabilities 0 to 31, then 32 to 63
    if libc.capget(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    for number in numbers:
        for kind in range(3):
            sets[number // 32 * 3 + kind] &= ~(1 << number % 32)
    if libc.capset(header, sets) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def _pointer(function: Any) -> int:
    import ctypes

    return ctypes.cast(function, ctypes.c_void_p).value or 0


class FailingArrays:
    """Has NumPy's n-th allocation of an array's memory fail, by a handler of NumPy's own kind (NEP 49)."""

    def __init__(self) -> None:
        import ctypes

        size = ctypes.c_size_t
        malloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, size)
        calloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, size, size)

        class Handler(ctypes.Structure):
            _fields_ = [
                ("name", ctypes.c_char * 127),
                ("version", ctypes.c_uint8),
                ("context", ctypes.c_void_p),
                ("malloc", malloc),
                ("calloc", calloc),
                ("realloc", ctypes.c_void_p),
                ("free", ctypes.c_void_p),
            ]

        python = ctypes.pythonapi
        python.PyCapsule_GetPointer.restype = ctypes.c_void_p
        python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        python.PyCapsule_New.restype = ctypes.py_object
        python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        capsule = np._core._multiarray_umath._ARRAY_API
        table = ctypes.cast(python.PyCapsule_GetPointer(capsule, None), ctypes.POINTER(ctypes.c_void_p))
        # Places in NumPy's table of functions, which stay the same: PyDataMem_SetHandler, PyDataMem_GetHandler.
        self._set = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[304])
        self._default = ctypes.PYFUNCTYPE(ctypes.py_object)(table[305])()
        own = Handler.from_address(python.PyCapsule_GetPointer(self._default, b"mem_handler"))
        self._left = -1
        self.failed = 0
        self.failing = Handler(b"failing", own.version, own.context, malloc(self._malloc), calloc(self._calloc))
        self.failing.realloc, self.failing.free = own.realloc, own.free  # memory is the default's
        # NumPy's own functions want the interpreter's lock, which other ctypes functions let go of.
        self._own_malloc = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, size)(_pointer(own.malloc))
        self._own_calloc = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, size, size)(_pointer(own.calloc))
        self._capsule = python.PyCapsule_New(ctypes.addressof(self.failing), b"mem_handler", None)

    def _fails(self) -> bool:
        self._left -= 1
        self.failed += self._left == -1
        return self._left == -1

    def _malloc(self, context: Any, size: int) -> Any:
        return None if self._fails() else self._own_malloc(context, size)

    def _calloc(self, context: Any, count: int, size: int) -> Any:
        return None if self._fails() else self._own_calloc(context, count, size)

    @contextlib.contextmanager
    def at(self, number: int) -> Iterator[None]:
        """The allocation of this number (0 is the first) inside fails; `failed` counts those that did."""
        self._left = number
        self.failed = 0
        self._set(self._capsule)
        try:
            yield
        finally:
            self._set(self._default)
