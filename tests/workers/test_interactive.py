"""Classes and functions that were written into an interpreter or a notebook, and that no module has."""

import subprocess
import sys
import textwrap

import pytest

CELLS = [
    """
    import gymnasium, numpy as np, batchenv
    from gymnasium import spaces
    SIZE, table = 3, {"reward": 2.0}

    def reward_of(count):
        return table["reward"] * count

    class Mine(gymnasium.Env):
        observation_space = spaces.Box(0, 99, (SIZE,), np.float32)
        action_space = spaces.Discrete(2)

        def __init__(self, start=0):
            self.start = start

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.said = (options or {}).get("said")
            self.count = self.start
            return np.full(SIZE, self.count, np.float32), {}

        def step(self, action):
            self.count += 1
            seen = np.full(SIZE, self.count, np.float32)
            return seen, reward_of(self.count), False, False, {"kind": Said(self.count)}

        def more(self, other):
            if not isinstance(other, Said):
                raise Said.Wrong("not said")
            return Said(self.count + other.count + self.said.count), lambda: self.count

    class Said:
        class Wrong(Exception):
            pass

        def __init__(self, count):
            self.count = count
    """,
    """
    def closure(start):
        return lambda: Mine(start)

    class Child(Mine):
        def step(self, action):
            observation, reward, *rest = super().step(action)
            return observation, -reward, *rest

    def show(make, lanes, **options):
        env = batchenv.make_python(make, lanes, num_workers=2, start_method=METHOD, **options)
        env.reset(seed=1)
        observations, rewards, *_, infos = env.step(np.zeros(lanes, int))
        said = infos["kind"]
        print("told", observations[:, 0].tolist(), rewards.tolist(), [type(one) is Said for one in said])
        env.close()
    """,
    """
    env = batchenv.make_python(Mine, 2, num_workers=2, start_method=METHOD)
    env.reset(seed=1, options={"said": Said(10)})
    one, count = env.call("more", Said(100))[1]
    env.set_attr("said", [Said(20), Said(30)])
    other, _ = env.call("more", Said(100))[1]
    print("told", type(one) is Said, one.count, count(), other.count, type(env.get_attr("said")[0]) is Said)
    try:
        env.call("more", 3)
    except Said.Wrong as problem:
        print("told", problem)
    env.close()
    env = batchenv.make_python(Mine, 2, workers="serial", snapshots="pickle")
    env.reset(seed=1)
    env.restore(env.snapshot())
    env.close()
    """,
    "show(Mine, 2)",
    "show(Child, 2, env_kwargs={'start': 4})",
    "show([closure(k) for k in range(3)], 3)",
    "table['reward'] = 5.0; show(lambda: Mine(1), 2)",
]
EXPECTED = [
    "told True 110 0 130 True",
    "told not said",
    "told [1.0, 1.0] [2.0, 2.0] [True, True]",
    "told [5.0, 5.0] [-10.0, -10.0] [True, True]",
    "told [1.0, 2.0, 3.0] [2.0, 4.0, 6.0] [True, True, True]",
    "told [2.0, 2.0] [10.0, 10.0] [True, True]",
]


def cells(method):
    return [textwrap.dedent(cell).strip("\n") for cell in [f"METHOD = {method!r}", *CELLS]]


@pytest.mark.cases(1)
@pytest.mark.parametrize("method", ["forkserver", "spawn", "fork"])
def test_an_interpreter(method):
    """As `python -i`: each cell is a statement or several, and `__main__` has no file."""
    typed = "\n".join(f"exec({cell!r})" for cell in cells(method)) + "\n"
    done = subprocess.run([sys.executable, "-i", "-q"], input=typed, capture_output=True, text=True, timeout=300)
    assert [line for line in done.stdout.splitlines() if line.startswith("told")] == EXPECTED, done.stderr


@pytest.mark.parametrize("method", ["forkserver", "spawn", "fork"])
def test_a_notebook(method):
    """In a kernel, which has threads and an event loop of its own."""
    pytest.importorskip("ipykernel")
    manager = pytest.importorskip("jupyter_client.manager")
    kernel, client = manager.start_new_kernel(kernel_name="python3")
    told = []

    def heard(message):
        assert message["msg_type"] != "error", "\n".join(message["content"]["traceback"])
        if message["msg_type"] == "stream":
            told.append(message["content"]["text"])

    try:
        for cell in cells(method):
            client.execute_interactive(cell, timeout=120, output_hook=heard)
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)
    assert [line for line in "".join(told).splitlines() if line.startswith("told")] == EXPECTED
