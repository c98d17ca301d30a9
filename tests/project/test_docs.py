"""What the documentation shows runs, and its links lead somewhere."""

import importlib.util
import re

import pytest

from helpers.project import ROOT

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


@pytest.mark.parametrize("name", ["README.md", "docs/your-loop.md"])
def test_code_runs(name, tmp_path, monkeypatch):
    """One block after the other, as a reader would paste them."""
    monkeypatch.chdir(tmp_path)
    namespace, skipped = {}, []
    for line, code in blocks(ROOT / name):
        missing = [module for module in re.findall(r"^(?:import|from) (\w+)", code, re.M) if not is_there(module)]
        if "RecordVideo" in code and not (is_there("moviepy") and is_there("pygame")):
            missing.append("moviepy and pygame")
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
