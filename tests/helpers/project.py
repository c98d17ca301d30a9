"""Where the project's files are, and which packages its extras have."""

import tomllib
from pathlib import Path

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").exists())
_PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# {extra: its packages, by the names under which they are imported}
EXTRAS = {
    extra: [one.split(">")[0].replace("-", "_") for one in packages]
    for extra, packages in _PYPROJECT["project"]["optional-dependencies"].items()
}
