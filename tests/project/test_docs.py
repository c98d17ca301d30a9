"""What the documentation shows runs, and its links lead somewhere."""

import importlib.util
import re

import pytest

from helpers.processes import run_python
from helpers.project import ROOT

# The pages whose code runs as it stands. Those of others need a learner, or files of the reader's.
RUN = (
    "index",
    "tutorial",
    "your-loop",
    "python-envs",
    "async",
    "toy-text",
    "box2d",
    "atari",
    "from-envpool",
    "conformance",
)
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


@pytest.mark.parametrize(
    "name", ["README.md", "docs/index.md", "docs/tutorial.md", "docs/your-loop.md", "docs/python-envs.md"]
)
def test_code_runs(name, tmp_path, monkeypatch):
    """One block after the other, as a reader would paste them."""
    monkeypatch.chdir(tmp_path)
    namespace, skipped = {}, []
    for line, code in blocks(ROOT / name):
        missing = [module for module in re.findall(r"^(?:import|from) (\w+)", code, re.M) if not is_there(module)]
        if "render_mode=" in code and not is_there("pygame"):
            missing.append("pygame")
        if "RecordVideo" in code and not (is_there("moviepy") and is_there("pygame")):
            missing.append("moviepy and pygame")
        missing += [
            module
            for env_id, module in (("CarRacing", "Box2D"), ("minigrid:", "minigrid"), ("ALE/", "multi_agent_ale_py"))
            if env_id in code and not is_there(module)
        ]
        if missing:
            skipped.append(f"line {line}: {', '.join(missing)}")
            continue
        exec(compile("\n" * line + code, ROOT / name, "exec"), namespace)
    assert namespace, skipped


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
