"""Worker processes come to be in several ways, and get the same in each. Hangs, and limits of the system."""

import collections
import gc
import multiprocessing.connection
import os
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

import batchenv
from batchenv.workers.processes import starter
from batchenv.workers.processes.channel import Channel
from helpers.begun import begun
from helpers.descent import descendants, ended, zombies
from helpers.processes import first_on_path, run_python
from helpers.project import ROOT
from helpers.python_envs import Plain

METHODS = starter.METHODS
LARGE = bytes(1 << 21)  # more than a socket takes at once


class Telling(Plain):
    """Tells what its process is like."""

    def step(self, action):
        *result, _ = super().step(action)
        return *result, {"large": bytes(1 << 22)} if action else {}

    def tell(self):
        numbers = [n for n in range(100) if os.path.exists(f"/proc/self/fd/{n}")]
        return {
            "pid": os.getpid(),
            "variable": os.environ.get("BATCHENV_TEST_OF_WORKERS"),
            "folder": os.getcwd(),
            "path": list(sys.path),
            "files": [os.readlink(f"/proc/self/fd/{n}") for n in numbers],
            "inherited": [n for n in numbers if n > 2 and os.get_inheritable(n)],
            "input": sys.stdin.read(),
            "interrupt": signal.getsignal(signal.SIGINT) == signal.SIG_IGN,
            "blocked": len(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
            "random": np.random.random(),
        }

    def take(self, value):
        return len(value)

    def stop(self):
        os.kill(os.getpid(), signal.SIGSTOP)


def make(method, num_envs=2, num_workers=2, **options):
    return batchenv.make_python(Telling, num_envs, num_workers=num_workers, start_method=method, **options)


def pids(env):
    return [told["pid"] for told in env.call("tell")]


def open_files():
    """What this process has open. Envs of other tests may have been left in circles of references."""
    gc.collect()
    names = (os.path.join("/proc/self/fd", number) for number in os.listdir("/proc/self/fd"))
    return collections.Counter(kind_of(os.readlink(name)) for name in names if os.path.exists(name))


def kind_of(file):
    return file.split(":[")[0].split(" ")[0]


@pytest.mark.parametrize("method", METHODS)
def test_what_workers_get(method, monkeypatch, tmp_path):
    monkeypatch.setenv("BATCHENV_TEST_OF_WORKERS", "set just before")
    monkeypatch.syspath_prepend(str(tmp_path / "added"))
    monkeypatch.chdir(tmp_path)
    before = open_files() if method == "fork" else collections.Counter()  # which has what the program has
    env = begun(make(method, 3, 3), seed=1)
    told = env.call("tell")
    for one in told:
        assert one["variable"] == "set just before" and one["folder"] == str(tmp_path)
        assert str(tmp_path / "added") in one["path"]
        assert one["input"] == "" and one["interrupt"] and not one["blocked"]
        kinds = collections.Counter(map(kind_of, one["files"]))
        assert kinds["/memfd:batchenv"] <= before["/memfd:batchenv"] + 1
        assert kinds["socket"] <= before["socket"] + 1
        assert kinds["anon_inode"] <= before["anon_inode"] + 2  # a pidfd and an eventfd
        if method != "fork":
            assert kinds.total() == 7 and not one["inherited"]
    numbers = {one["random"] for one in told}
    assert len(numbers) == 3, "workers draw the same numbers"


@pytest.mark.cases(1)
@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_left_of_workers_that_came_and_went(method, made):
    make(method).close()
    made.clear()
    before = open_files()
    for _ in range(2):
        env = begun(make(method), seed=1)
        for _ in range(2):
            os.kill(pids(env)[0], signal.SIGKILL)
            with pytest.raises(batchenv.LaneError, match="was ended by signal 9"):
                env.step(np.zeros(2, int))
            env.step(np.zeros(2, int))
        assert len(descendants()) == 2 + (method == "forkserver")
        env.close()
        made.clear()
        del env
        assert open_files() <= before and not descendants() and not zombies()


def test_a_server_that_is_killed():
    """Its workers live on. When one of them dies, nobody knows how; another server starts the next one."""
    env = begun(make("forkserver"), seed=1)
    workers = pids(env)
    (server,) = (pid for pid, name in descendants().items() if name == "batchenv server")
    os.kill(server, signal.SIGKILL)
    assert ended([server])
    env.step(np.zeros(2, int))
    assert pids(env) == workers
    os.kill(workers[1], signal.SIGKILL)
    with pytest.raises(batchenv.LaneError, match="nobody knows how"):
        env.step(np.zeros(2, int))
    env.step(np.zeros(2, int))
    assert pids(env)[0] == workers[0] and pids(env)[1] != workers[1]
    os.kill(pids(env)[1], signal.SIGKILL)
    with pytest.raises(batchenv.LaneError, match="was ended by signal 9"):
        env.step(np.zeros(2, int))
    env.close()
    assert ended(workers) and not descendants()


@pytest.mark.parametrize("method", METHODS)
def test_a_forked_child_that_ends_leaves_the_workers_alone(method):
    env = begun(make(method), seed=1)
    child = os.fork()
    if child == 0:
        env._backend._pool._workers[0]._end()  # as the end of a program does
        env._backend._pool.end()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    env.step(np.zeros(2, int))


@pytest.mark.parametrize("method", METHODS)
def test_a_program_without_stdin_stdout_and_stderr(method, tmp_path):
    code = """
        import sys, numpy as np, batchenv
        def chatty():
            import gymnasium
            class Chatty(gymnasium.Wrapper):
                def step(self, action):
                    import os
                    os.write(1, b"text"), os.write(2, b"text")
                    return super().step(action)
            return Chatty(gymnasium.make("CartPole-v1"))
        env = batchenv.make_python(chatty, 2, num_workers=2, start_method=sys.argv[1])
        env.reset(seed=1)
        for _ in range(30):
            rewards = env.step(np.ones(2, int))[1]
        env.close()
        open(sys.argv[2], "w").write("done")
        """
    command = [sys.executable, "-c", textwrap.dedent(code), method, str(tmp_path / "out")]
    subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command], timeout=200)
    assert (tmp_path / "out").read_text() == "done"


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_a_forked_child_of_a_program_with_threads_makes_envs(method):
    code = """
        import os, sys, threading, numpy as np, batchenv
        native = batchenv.make("CartPole-v1", 4096, num_threads=2)
        native.reset(seed=1), native.step(np.zeros(4096, int))
        threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()
        child = os.fork()
        env = batchenv.make_python("CartPole-v1", 2, num_workers=2, start_method=sys.argv[1])
        env.reset(seed=1)
        assert env.step(np.zeros(2, int))[1].tolist() == [1, 1]
        env.close()
        if child:
            assert os.waitpid(child, 0)[1] == 0
        os._exit(0)
        """
    run_python(code, method)


# ---- hangs -------------------------------------------------------------------------------------------------------


def stopped(env):
    """Stops the worker of lane 1, as if it hung, between two messages."""
    pid = pids(env)[1]
    os.kill(pid, signal.SIGSTOP)
    return pid


def test_a_large_question_to_a_worker_that_hangs():
    env = begun(make(None, step_timeout=3.0), seed=1)
    pid = stopped(env)
    with pytest.raises(RuntimeError, match=r"took longer than step_timeout=3\.0 s"):
        env.call("take", LARGE)
    assert ended([pid])
    with pytest.raises(batchenv.LaneError, match="step_timeout"):
        env.step(np.zeros(2, int))
    env.step(np.zeros(2, int))
    assert env.call("take", LARGE) == (len(LARGE),) * 2


def interrupt_when_full(monkeypatch):
    """Ctrl-C comes as soon as a worker has been sent a part of a message, and takes no more."""
    full, wait = threading.Event(), Channel._wait

    def waiting(channel, events, check):
        if events & select.POLLOUT:
            full.set()
        wait(channel, events, check)

    monkeypatch.setattr(Channel, "_wait", waiting)
    threading.Thread(target=lambda: full.wait() and signal.raise_signal(signal.SIGINT)).start()


@pytest.mark.parametrize("then", ["reset", "call", "step", "send"])
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_while_a_worker_that_hangs_is_asked(monkeypatch, workers, then):
    """It is replaced, because the rest of the message could not be told from the next one."""
    env = begun(make(None, workers, workers), seed=1)
    pid = pids(env)[0]
    os.kill(pid, signal.SIGSTOP)
    interrupt_when_full(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        env.call("take", LARGE)
    actions = np.zeros(workers, int)
    if then == "call":
        assert env.call("take", LARGE) == (len(LARGE),) * workers
    if then == "send":
        env.send(actions, np.arange(workers))
    if then != "reset":
        with pytest.raises(batchenv.LaneError, match=r"lane 0.*Ctrl-C came between it and this process"):
            env.recv() if then == "send" else env.step(actions)
    env.reset(seed=1)
    assert ended([pid]) and env.call("take", LARGE) == (len(LARGE),) * workers
    env.step(actions)
    env.close()


def test_ctrl_c_while_a_worker_that_hangs_is_reset(monkeypatch):
    env = begun(make(None, 1, 1), seed=1)
    pid = pids(env)[0]
    os.kill(pid, signal.SIGSTOP)
    interrupt_when_full(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        env.reset(seed=1, options={"large": LARGE})
    env.reset(seed=1)
    assert ended([pid]) and env.call("take", b"12") == (2,)
    env.close()


def test_large_reports():
    env = begun(make(None, 4, 2), seed=1)
    *_, infos = env.step(np.ones(4, int))
    assert [len(large) for large in infos["large"]] == [1 << 22] * 4


def test_a_channel_whose_other_end_stops_in_the_middle():
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    looks = []

    def look():
        looks.append(None)
        if len(looks) == 3:
            raise TimeoutError

    theirs.sendall(b"\0\0\1\0half of it")
    with pytest.raises(TimeoutError):
        channel.recv(1, look)
    looks.clear()
    with pytest.raises(TimeoutError):
        channel.send(LARGE, look)
    theirs.close()
    with pytest.raises((EOFError, OSError)):
        channel.recv(1, look)


def test_a_channel_of_which_both_ends_have_much_to_say():
    """Neither end reads before it has written: the one that is ours does both at once."""
    ours, theirs = socket.socketpair()
    channel, other = Channel(ours), multiprocessing.connection.Connection(theirs.detach())
    messages = [bytes([k]) * (1 << 23) for k in range(3)]
    heard = []

    def talk():
        for message in messages:
            other.send_bytes(message)
        heard.extend(other.recv_bytes() for _ in messages)

    thread = threading.Thread(target=talk)
    thread.start()
    for message in messages:
        channel.send(message[::-1], time.monotonic)
    assert [channel.recv(number, time.monotonic) for number in (1, 2, 3)] == messages
    thread.join(60)
    assert heard == messages


def test_two_threads_in_one_env():
    env = begun(make(None), seed=1)
    pid = stopped(env)
    thread = threading.Thread(target=env.step, args=(np.zeros(2, int),))
    thread.start()
    time.sleep(0.3)
    for call in (lambda: env.step(np.zeros(2, int)), env.reset, lambda: env.get_attr("spec"), env.close):
        with pytest.raises(RuntimeError, match="used by another thread"):
            call()
    os.kill(pid, signal.SIGCONT)
    thread.join(60)
    np.testing.assert_array_equal(env.step(np.zeros(2, int))[1], [1, 1])


# ---- limits ------------------------------------------------------------------------------------------------------

LIMITED = """
import os, resource, sys, gymnasium, numpy as np, batchenv
from gymnasium import spaces
class Wide(gymnasium.Env):
    def __init__(self, size):
        self.observation_space, self.action_space = spaces.Box(0, 255, (size,), np.uint8), spaces.Discrete(2)
make = lambda count, size, **options: batchenv.make_python(lambda: Wide(size), count, num_workers=count, **options)
make(1, 2).close()
before = os.listdir("/proc/self/fd")
"""


@pytest.mark.parametrize("method", METHODS)
def test_too_few_descriptors(method):
    code = LIMITED + textwrap.dedent("""
        from helpers.descent import descendants
        resource.setrlimit(resource.RLIMIT_NOFILE, (31, 31))
        for limit in (30, 31):  # whether the next one to be had is a socket or a pidfd
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, 31))
            try:
                make(60, 2, start_method=sys.argv[1])
            except OSError as problem:
                text = str(problem)
                assert "of 60 cannot be started: 60 workers need 120 descriptors" in text, text
                assert f"RLIMIT_NOFILE is {limit}" in text, text
            else:
                raise AssertionError
            assert os.listdir("/proc/self/fd") == before and not descendants()
        make(3, 2, start_method=sys.argv[1]).close()
        """)
    run_python(code, method, PYTHONPATH=first_on_path(ROOT / "tests"))


def test_too_little_memory():
    code = """
        import os, resource, numpy as np
        from batchenv.workers.processes.memory import Memory, MemoryPlan
        def wide(size):
            fd = os.memfd_create("test")
            try:
                return len(Memory(fd, MemoryPlan(2, 1, 20, [(np.dtype("uint8"), (size,))], []), True).columns[0])
            except MemoryError as problem:
                return str(problem)
            finally:
                os.close(fd)
        assert wide(1 << 20) == 2
        assert "2 lanes need 2,199,0" in wide(1 << 40) and "this machine has not so much" in wide(1 << 40)
        assert "2 lanes need" in wide(1 << 62)
        used = int(open("/proc/self/statm").read().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 28), -1))
        assert "Cannot allocate memory" in wide(1 << 28) and wide(1 << 20) == 2
        """
    run_python(code)


def may_mount():
    mount = ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/dev/shm"]
    return shutil.which("unshare") and not subprocess.run(mount, capture_output=True, check=False).returncode


@pytest.mark.skipif(not may_mount(), reason="needs the right to mount another /dev/shm")
@pytest.mark.parametrize("options", ["ro", "size=4k,nr_inodes=1"])
def test_a_useless_dev_shm(options):
    code = """
        import os, sys, numpy as np, batchenv
        try:
            open("/dev/shm/file", "wb").write(bytes(10000))
        except OSError:
            pass
        else:
            sys.exit(3)
        env = batchenv.make_python("CartPole-v1", 2, num_workers=2)
        env.reset(seed=1), env.step(np.zeros(2, int))
        env.close()
        """
    shell = f'mount -t tmpfs -o {options} tmpfs /dev/shm && exec "$0" "$@"'
    command = ["unshare", "-m", "sh", "-c", shell, sys.executable, "-c", textwrap.dedent(code)]
    assert subprocess.run(command, timeout=200, check=False).returncode == 0


def test_wrong_methods():
    with pytest.raises(ValueError, match="start_method='vfork' must be None or one of 'forkserver', 'spawn', 'fork'"):
        make("vfork")
    with pytest.raises(ValueError, match="start_method='fork' is for workers='processes'"):
        batchenv.make_python(Telling, 2, workers="threads", start_method="fork")
    assert "num_workers" in str(starter.refusal(OSError(11, "x"), 3, 9)) and resource.getrlimit(resource.RLIMIT_NPROC)


class Parent(Plain):
    """Starts a program of its own, and never ends it."""

    observation_space = spaces.Box(0, 2**31, (2,), np.float64)

    def reset(self, *, seed=None, options=None):
        self.program = subprocess.Popen(["sleep", "1000"])
        return np.array([os.getpid(), self.program.pid], float), {}


@pytest.mark.cases(1, per="end")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("end", ["close", "kill", "parent"])
def test_what_envs_have_started_ends_with_their_worker(method, end):
    if end == "parent":
        code = f"""
import signal, sys
sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}
import test_start_methods as tests
import batchenv
env = batchenv.make_python(tests.Parent, 1, workers="processes", start_method={method!r})
print(*env.reset()[0][0].astype(int), flush=True)
signal.pause()
"""
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as program:
            pids = list(map(int, program.stdout.readline().split()))
            program.kill()
        assert len(pids) == 2 and ended(pids)
        return
    env = batchenv.make_python(Parent, 1, workers="processes", start_method=method)
    worker, program = map(int, env.reset()[0][0])
    if end == "kill":
        os.kill(worker, signal.SIGKILL)
        with pytest.raises(batchenv.LaneError):
            env.step(np.zeros(1, int))
        assert ended([worker, program])
    env.close()
    assert ended([worker, program])
