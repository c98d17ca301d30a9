"""docs/envs/your-own-env.md shows the files of examples/own_env, and their two versions of one game agree."""

import re
import sys

from helpers.project import ROOT

EXAMPLE = ROOT / "examples/own_env"


def test_the_page_shows_the_whole_file():
    page = (ROOT / "docs/envs/your-own-env.md").read_text()
    blocks = re.findall(r"^```c\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    shown = [line for block in blocks for line in block.splitlines() if line]
    assert shown == [line for line in (EXAMPLE / "treasure.c").read_text().splitlines() if line]


def test_c_and_python_agree(tmp_path, monkeypatch):
    monkeypatch.setenv("BATCHENV_CACHE", str(tmp_path))
    monkeypatch.setattr(sys, "path", [str(EXAMPLE), *sys.path])
    import treasure

    assert treasure.compare(num_envs=9, steps=300) == 2700


def test_what_the_page_does_with_it_works(tmp_path, monkeypatch):
    monkeypatch.setenv("BATCHENV_CACHE", str(tmp_path))
    monkeypatch.chdir(EXAMPLE)
    page = (ROOT / "docs/envs/your-own-env.md").read_text()
    (block,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    names = {}
    exec(block, names)
    assert names["result"].observations["place"].shape == (200, 64, 2)
    assert names["infos"]["env_id"].shape == (16,)
