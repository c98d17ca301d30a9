"""The C files that `python -m batchenv new` writes."""

from __future__ import annotations

import os
import re
from pathlib import Path

_TEMPLATE = Path(__file__).resolve().parent / "template.c"


def write(name: str, folder: str | Path = ".", xml: str | None = None) -> Path:
    """Writes NAME.c into the folder. Its type and id are the name in capitals: my_game has the id MyGame-v0.

    xml: the XML file of a MuJoCo model, for which a task is written. The task finds it by this path or, where that is
    relative, by the same one as seen from the folder.

    Raises:
        ValueError: the name is not a word of letters, digits and _; or the XML is no model with actuators.
        FileExistsError: there is already such a file. It is not overwritten.
        FileNotFoundError, IsADirectoryError: there is no such XML file.
        gymnasium.error.DependencyNotInstalled: a model is given, and mujoco is not installed.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", name):
        raise ValueError(f"the name {name!r} must be a word such as my_game: letters, digits and _, a letter first")
    camel = "".join(part[0].upper() + part[1:] for part in name.split("_") if part)
    path = Path(folder) / f"{name}.c"
    if xml is None:
        text = _TEMPLATE.read_text(encoding="utf-8").replace("NAME", camel).replace("FILE", path.name)
    else:
        from batchenv.compiler import task_template  # late: it reads models

        setting = xml if xml.startswith(("/", "~")) else os.path.relpath(xml, folder)
        text = task_template.text(xml, setting, path.name, camel)
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise FileExistsError(f"{path} is there already, and is left as it is: choose another name") from None
    return path
