"""What the documentation shows runs, and its links lead somewhere."""

import importlib.metadata
import importlib.util
import re
import types

import numpy as np
import pytest

import batchenv
from helpers.processes import python, run_python
from helpers.project import ROOT

# The pages whose code is run, one block after the other. Those of your-own-env.md are in tests/compiler, those of
# conformance.md below.
RUN = [
    *("README.md", "index", "tutorial", "your-loop", "python-envs", "async", "learners", "jax", "from-envpool"),
    *("toy-text", "minigrid", "box2d", "mujoco", "atari"),
]
# What stands in a block, and the package without which the block is left out.
NEEDS = {
    "render_mode=": "pygame",
    "RecordVideo": "moviepy",
    "CarRacing": "Box2D",
    "minigrid:": "minigrid",
    "ALE/": "multi_agent_ale_py",
    "Pong-v5": "multi_agent_ale_py",
    "Breakout-v5": "multi_agent_ale_py",
    "HalfCheetah-v5": "mujoco",
    "Hopper-v5": "mujoco",
    "Ant-v5": "mujoco",
    "make_mujoco": "mujoco",
    'env_type="torch"': "torch",
    "batchenv.jax": "jax",
    "integrations.rl_games": "rl_games",
}
# What stands in blocks that are not run, and why.
OUTSIDE = {
    "ray.init()": "starts a cluster, as tests/integrations/test_ray.py does",
    "Collector(policy, env, VectorReplayBuffer": "needs a policy; tests/integrations/test_tianshou.py has one",
    ", ...)": "shows what changes in a line of the reader's",
}
SHORTER = {".learn(100_000)": ".learn(64)"}
ROBOT = """<mujoco><worldbody><body name="torso" pos="0 0 1"><freejoint/><geom size="0.1"/>
<body pos="0.2 0 0"><joint name="a" axis="0 1 0"/><geom size="0.05"/><body pos="0.1 0 0"><joint axis="0 1 0"/>
<geom size="0.05"/></body></body></body></worldbody><actuator><motor joint="a"/></actuator>
<sensor><jointpos joint="a"/></sensor></mujoco>"""


def readers_own(folder):
    """What pages suppose that a reader has: a model, actions for it, a script's arguments."""
    (folder / "robot.xml").write_text(ROBOT)
    args = types.SimpleNamespace(env_id="Pendulum-v1", num_envs=4, gamma=0.99)
    return {"batchenv": batchenv, "np": np, "args": args, "actions": np.zeros((256, 1))}


CONFORMANCE = ROOT / "docs" / "conformance.md"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page):
    """The Python code of a page: (line, code)."""
    text = page.read_text(encoding="utf-8")
    for found in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield text[: found.start(1)].count("\n"), found[1]


def heading_anchors(page):
    """What GitHub makes of the headings: lower case, hyphens for spaces, no other punctuation."""
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M), re.M
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", RUN)
def test_code_runs(name, tmp_path, monkeypatch):
    """One block after the other, as a reader would paste them."""
    monkeypatch.chdir(tmp_path)
    page = ROOT / (name if name.endswith(".md") else f"docs/{name}.md")
    namespace, ran, left_out = readers_own(tmp_path), 0, []
    for line, code in blocks(page):
        missing = [module for module in re.findall(r"^(?:import|from) (\w+)", code, re.M) if not is_there(module)]
        missing += [module for words, module in NEEDS.items() if words in code and not is_there(module)]
        missing += [reason for words, reason in OUTSIDE.items() if words in code]
        if missing:
            left_out.append(f"line {line}: {', '.join(missing)}")
            continue
        for long, short in SHORTER.items():
            code = code.replace(long, short)
        exec(compile("\n" * line + code, page, "exec"), namespace)
        ran += 1
    if not ran:
        assert left_out, f"{page.name} has no code"
        pytest.skip("; ".join(left_out))


def faults():
    """What conformance.md shows of other vector envs: a list of (package, code, what it prints)."""
    printed = re.findall(r"^```text\n(.*?)^```", CONFORMANCE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    found = []
    for (line, code), expected in zip(blocks(CONFORMANCE), printed, strict=True):
        package = next((name for name in ("envpool", "ale_py") if name in code), "gymnasium")
        found.append(pytest.param(package, code, expected, id=f"{package}, line {line}"))
    return found


@pytest.mark.parametrize("package, code, expected", faults())
def test_other_vector_envs_fail_as_shown(package, code, expected):
    """In the versions that the page names: others may have been mended."""
    page = CONFORMANCE.read_text(encoding="utf-8")
    for needed in {package, "gymnasium"}:
        if not is_there(needed):
            pytest.skip(f"{needed} is not installed")
        (shown,) = re.findall(rf"\b{needed.replace('_', '-')}\s+(\d[\d.]*\d)", page, re.IGNORECASE)
        if importlib.metadata.version(needed) != shown:
            pytest.skip(f"the page is about {needed} {shown}")
    done = python("-W", "ignore", "-c", code)
    killed = re.match(r"killed by signal (\d+): (.*)\n", expected)
    if killed:
        assert -done.returncode == int(killed[1]) and killed[2] in done.stderr, done.stderr
    else:
        assert done.stdout == expected, done.stderr


def is_there(module):
    return importlib.util.find_spec(module) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path) if path else page
        assert linked.exists(), f"{page.name} links to {target}, which is not there"
        if anchor:
            assert anchor in heading_anchors(linked), f"{page.name} links to {target}: no such heading"


def test_the_index_names_every_page():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    missing = [
        page.name for page in (ROOT / "docs").glob("*.md") if page.name != "README.md" and page.name not in index
    ]
    assert not missing


def test_process_page_names_every_environment_variable():
    text = (ROOT / "docs" / "process.md").read_text(encoding="utf-8")
    sources = [ROOT / "setup.py", *ROOT.glob("build_*.py")]
    sources += [path for room in ("batchenv", "csrc") for path in (ROOT / room).rglob("*.[cphy]*")]
    read = set()
    for path in sources:
        if path.suffix in (".py", ".pyx", ".pxi", ".c", ".h"):
            code = path.read_text(encoding="utf-8")
            read.update(re.findall(r"""(?:environ(?:\.get\(|b?\[)|getenv\()["']([A-Z_]+)["']""", code))
    assert {"BATCHENV_ISA", "BATCHENV_ALE_FAST", "BATCHENV_NO_OPENMP", "ALE_ROMS_DIR"} <= read, "the test reads nothing"
    limits = {"OMP_STACKSIZE", "GOMP_STACKSIZE"}  # named in a message, and not heeded
    assert {name for name in read - limits if f"`{name}`" not in text} == set()


def test_process_page_is_right_about_ids():
    """An env can be made after batchenv's ids were taken out of Gymnasium's registry."""
    code = """
import batchenv, gymnasium
for name in [name for name in gymnasium.registry if name.startswith("batchenv/")]:
    del gymnasium.registry[name]
env = batchenv.make("CartPole-v1", 2)
assert env.reset(seed=0)[0].shape == (2, 4) and env.spec.id == "batchenv/CartPole-v1"
"""
    run_python(code)
