"""`python -m batchenv evaluate`: plays episodes of a policy, and prints what they gave."""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any

from batchenv.evaluation import Evaluation, evaluate


def find_policy(text: str) -> Any:
    """The policy that "module:name" means, of a module on Python's path or in the working directory; or "random".

    Raises:
        ValueError: there is no such module, or nothing of this name in it.
    """
    if text == "random":
        return text
    module, colon, path = text.partition(":")
    if not colon or not module or not path:
        raise ValueError(f"--policy {text}: say module:function, such as my_agent:act, or random")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or module.split(".")[: error.name.count(".") + 1] != error.name.split("."):
            raise  # the module is there, and what it imports is not
        raise ValueError(f"--policy {text}: there is no module {module!r}: name one in this folder") from None
    for part in path.split("."):
        if not hasattr(found, part):
            raise ValueError(f"--policy {text}: {module} has no {path!r}")
        found = getattr(found, part)
    return found


def run(env_id: str, policy: str, keywords: dict[str, Any], **options: Any) -> Evaluation:
    return evaluate(env_id, find_policy(policy), **options, **keywords)


def lines(result: Evaluation, confidence: float) -> list[str]:
    """The summary, a line per number."""
    return [f"{name}: {value:.6g}" for name, value in result.summary(confidence).items()]


def write(result: Evaluation, path: str) -> None:
    """Writes the table of episodes, and the summary, as JSON."""
    columns = {name: values.tolist() for name, values in result.columns().items()}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"summary": result.summary(), "episodes": columns}, file, indent=1)
