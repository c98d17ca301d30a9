"""The pages of docs/benchmarks/ are what tools/generate/write_benchmarks.py writes from the measurements in
results.json."""

import copy
import importlib.util
import json
import shutil
import sys

import pytest

from helpers.project import ROOT

FOLDER = ROOT / "docs" / "benchmarks"


@pytest.fixture(scope="module")
def tool():
    path = ROOT / "tools/generate/write_benchmarks.py"
    spec = importlib.util.spec_from_file_location("write_benchmarks", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def results(tool):
    return tool.load()


def tables(results):
    return [table for page in results["pages"].values() for table in page["tables"]]


def test_pages_are_those_of_the_results(tool, results):
    """`python tools/generate/write_benchmarks.py` writes them again."""
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    assert written == tool.pages(results)


def test_every_measurement_says_where_it_was_made(results):
    assert {table["machine"] for table in tables(results)} == set(results["machines"])
    for table in tables(results):
        assert {"title", "machine", "recorded", "versions", "command", "text", "columns", "rows"} <= set(table)
        assert all(len(row) == len(table["columns"]) for row in table["rows"]), table["title"]
        assert table["rows"] or table["text"], table["title"]


def test_a_changed_figure_changes_its_page_and_no_other(tool, results):
    before = tool.pages(results)
    for name in results["pages"]:
        changed = copy.deepcopy(results)
        rows = [row for table in changed["pages"][name]["tables"] for row in table["rows"]]
        cells = [(row, k) for row in rows for k, value in enumerate(row) if not isinstance(value, str | list | None)]
        row, k = cells[-1]
        row[k] += 1
        after = tool.pages(changed)
        assert {file for file in after if after[file] != before[file]} == {f"{name}.md"}


def test_commands_name_files_that_are_there(results):
    words = {word for table in tables(results) for word in table["command"].split()}
    files = {word for word in words if word.endswith((".py", ".sh"))}
    assert "tools/bench/bench_mujoco.py" in files
    assert [name for name in files if not (ROOT / name).exists()] == []


def test_digits_are_kept(tool, results):
    """A measured 3.860 is not 3.86: the file is what `dump` writes of what `load` has read."""
    assert tool.RESULTS.read_text(encoding="utf-8") == tool.dump(results) + "\n"
    assert tool.cell(results["pages"]["steps"]["tables"][4]["rows"][0][3], "") == "3.860"


def test_a_new_run_of_bench_takes_the_place_of_the_old_one(tool, results, monkeypatch, tmp_path):
    shutil.copytree(FOLDER, tmp_path / "pages")
    monkeypatch.setattr(tool, "FOLDER", tmp_path / "pages")
    monkeypatch.setattr(tool, "RESULTS", tmp_path / "pages" / "results.json")
    (tmp_path / "new.json").write_text(json.dumps({"cpu": "another", "rows": [{"id": "CartPole-v1", "lanes": 4096}]}))
    (tmp_path / "pages" / "steps.md").write_text("")
    monkeypatch.setattr(sys, "argv", ["write_benchmarks.py", "--bench", str(tmp_path / "new.json")])
    tool.main()
    assert tool.load() == {**results, "bench": {"cpu": "another", "rows": [{"id": "CartPole-v1", "lanes": 4096}]}}
    assert (tmp_path / "pages" / "steps.md").read_text(encoding="utf-8") == tool.pages(results)["steps.md"]
