"""What the documentation shows runs, and its links lead somewhere."""

import importlib.metadata
import importlib.util
import re
import shutil
import types

import numpy as np
import pytest

import batchenv
from batchenv.compiler import template
from batchenv.integrations import env_types
from helpers.processes import python, run_python
from helpers.project import EXTRAS, ROOT

DOCS = ROOT / "docs"
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")), *sorted(DOCS.rglob("*.md"))]
# The pages whose code is not run below: one has its own test in tests/compiler, one shows what others print, and the
# third has pieces of a script of the reader's.
NOT_RUN = {"your-own-env.md", "other-vector-envs.md", "debugging.md"}
# What stands in a block, and the package without which the block is left out.
NEEDS = {
    "procgen-": "procgen",
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
    "xml_file": "mujoco",
    "Go1Joystick": "mujoco_playground",
    "Mjlab-": "mjlab",
    "dm_control/": "dm_control",
    "PointMaze": "gymnasium_robotics",
    "Meta-World/": "metaworld",
    "goal_cell": "gymnasium_robotics",
    "batchenv.jax": "jax",
    **{
        f"{words}{quote}{env_type}{quote}": EXTRAS[env_type.replace("_", "-")][0]
        for words, quote in (("env_type=", '"'), ("integrations.", ""))
        for env_type in env_types()
        if env_type.replace("_", "-") in EXTRAS
    },
}
# What stands in blocks that are not run, and why.
OUTSIDE = {
    "ray.init()": "starts a cluster, as tests/integrations/test_ray.py does",
    "Collector(policy, env, VectorReplayBuffer": "needs a policy; tests/integrations/test_tianshou.py has one",
    'observation="pixels"': "needs OpenGL; tests/engines/mujoco/test_mujoco_dm_pixels.py draws such pictures",
    ", ...)": "shows what changes in a line of the reader's",
}
SHORTER = {".learn(100_000)": ".learn(64)"}
ROBOT = """<mujoco><worldbody><body name="torso" pos="0 0 1"><freejoint/><geom size="0.1"/>
<body pos="0.2 0 0"><joint name="a" axis="0 1 0"/><geom size="0.05"/><body pos="0.1 0 0"><joint axis="0 1 0"/>
<geom size="0.05"/></body></body></body></worldbody><actuator><motor joint="a"/></actuator>
<sensor><jointpos joint="a"/></sensor></mujoco>"""


def readers_own(folder):
    """What pages suppose that a reader has: a model, actions for it, a script's arguments."""
    for name in ("robot.xml", "heavier_robot.xml"):
        (folder / name).write_text(ROBOT)
    if is_there("mujoco"):
        template.write("walk", folder, str(folder / "robot.xml"))
    shutil.copytree(ROOT / "examples/own_task", folder, dirs_exist_ok=True)
    args = types.SimpleNamespace(env_id="Pendulum-v1", num_envs=4, gamma=0.99)
    return {"batchenv": batchenv, "np": np, "args": args, "actions": np.zeros((256, 1))}


OTHERS = DOCS / "reference" / "other-vector-envs.md"


def of_the_project(page):
    return str(page.relative_to(ROOT))


def blocks(page):
    """The Python code of a page: (line, code)."""
    text = page.read_text(encoding="utf-8")
    for found in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield text[: found.start(1)].count("\n"), found[1]


RUN = [page for page in PAGES if page.name not in NOT_RUN and any(blocks(page))]


def heading_anchors(page):
    """What GitHub makes of the headings: lower case, hyphens for spaces, no other punctuation."""
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M), re.M
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_there_is_code_to_run():
    names = {of_the_project(page) for page in RUN}
    assert {"README.md", "docs/guide/your-loop.md", "docs/learners/ray.md", "docs/envs/mujoco.md"} <= names


@pytest.mark.parametrize("page", RUN, ids=of_the_project)
def test_code_runs(page, tmp_path, monkeypatch):
    """One block after the other, as a reader would paste them."""
    monkeypatch.chdir(tmp_path)
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
    """What the page shows of other vector envs: a list of (package, code, what it prints)."""
    printed = re.findall(r"^```text\n(.*?)^```", OTHERS.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    found = []
    for (line, code), expected in zip(blocks(OTHERS), printed, strict=True):
        package = next((name for name in ("envpool", "ale_py") if name in code), "gymnasium")
        found.append(pytest.param(package, code, expected, id=f"{package}, line {line}"))
    return found


@pytest.mark.parametrize("package, code, expected", faults())
def test_other_vector_envs_fail_as_shown(package, code, expected):
    """In the versions that the page names: others may have been mended."""
    page = OTHERS.read_text(encoding="utf-8")
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


@pytest.mark.parametrize("page", PAGES, ids=of_the_project)
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


def test_an_index_names_every_page():
    """The index of the documentation, which names those of folders, or that of the page's folder."""

    def named(index):
        targets = re.findall(r"\]\(([^)\s#]+)\)", index.read_text(encoding="utf-8"))
        return {(index.parent / target).resolve() for target in targets}

    first = DOCS / "README.md"
    indices = {page for page in named(first) if page.name == "README.md" and DOCS in page.parents}
    assert {index.parent.name for index in indices} >= {"envs", "learners", "benchmarks"}
    within = set().union(*({page for page in named(index) if index.parent in page.parents} for index in indices))
    assert set(DOCS.rglob("*.md")) - named(first) - within == {first}


def test_numbers_of_environments_are_right():
    ids = batchenv.list_envs()
    games = {env_id for env_id in batchenv.list_envs("atari") if env_id.endswith("-v5") and "/" not in env_id}
    levels = [env_id for env_id in ids if env_id.startswith(("MiniGrid-", "BabyAI-"))]
    pages = [*PAGES, DOCS / "_site" / "catalogue.py"]
    text = " ".join(" ".join(page.read_text(encoding="utf-8") for page in pages).split())
    assert set(re.findall(r"(\d{3}) \[?(?:Atari )?games", text)) == {str(len(games))}
    assert set(re.findall(r"(\d+) levels of MiniGrid", text)) == {str(len(levels))}


@pytest.mark.parametrize("page", PAGES, ids=of_the_project)
def test_prose_is_wrapped(page):
    """At 100 characters, tables, code and what has no place for a break excepted."""
    text = re.sub(r"^ *(```+|:::+).*?^ *\1$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    long = [line for line in text.splitlines() if len(line) > 100 and not line.startswith(("|", "#", "<!--"))]
    assert [line for line in long if " " in line.lstrip(" -*>")] == []


LAYOUT = re.compile(r"^\| `([\w./]+)` \|", re.MULTILINE)


def test_the_table_of_the_layout_is_that_of_the_tree():
    """Each folder right below these has one line in CONTRIBUTING.md, and each line is about a folder."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("\n## Source layout\n")[2]
    named = LAYOUT.findall(text.partition("\n## ")[0])
    assert len(named) == len(set(named)), "a folder has two lines"
    assert [name for name in named if not name.endswith("/") or not holds_files(ROOT / name)] == []
    expected = {
        f"{parent}/{folder.name}/"
        for parent in ("batchenv", "csrc", "csrc/core", "tests", "tools", "docs")
        for folder in (ROOT / parent).iterdir()
        if holds_files(folder)
    }
    assert {"csrc/core/isa/", "docs/guide/", "tests/project/"} <= expected, "the test reads nothing"
    assert expected - set(named) == set()


HOP = re.compile(r"^\| `([\w./]+)` \| `(?:(\w+)\.)?(\w+)` \|", re.MULTILINE)


def test_the_way_of_a_step_goes_through_functions_that_are_there():
    hops = HOP.findall((DOCS / "internals" / "step.md").read_text(encoding="utf-8"))
    assert len(hops) > 50, "the test reads nothing"
    assert [hop for hop in hops if not is_defined(*hop)] == []


def is_defined(file, owner, function):
    """Whether a file of Python, Cython or C has this function; owner: of this class; "": of none."""
    text = (ROOT / file).read_text(encoding="utf-8")
    if owner:
        _, *bodies = re.split(rf"^(?:cdef )?class {owner}\b.*$", text, flags=re.MULTILINE)
        text = re.split(r"^(?:cdef )?class ", "".join(bodies), maxsplit=1, flags=re.MULTILINE)[0]
    defined = rf"^(?: *(?:def |cp?def .*[ *])|\w[\w ]* \**){function}\((?!.*;$)"
    return re.search(defined, text, re.MULTILINE) is not None


def holds_files(folder):
    """Whether there is a file in it that somebody has written."""
    if not folder.is_dir() or folder.name == "__pycache__":
        return False
    return any(path.is_file() and path.suffix not in (".pyc", ".so", ".o") for path in folder.rglob("*"))


def test_process_page_names_every_environment_variable():
    text = (DOCS / "reference" / "process.md").read_text(encoding="utf-8")
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
