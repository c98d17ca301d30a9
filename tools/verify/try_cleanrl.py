"""Tries docs/learners/cleanrl.md on CleanRL's own scripts: applies the changes, and runs the scripts.

The lines that are put into a script are read from the page. Where the page says that a script logs the very episodes
that it logs over Gymnasium's SyncVectorEnv, the script also runs over that, and the episodes are compared. It needs
what the scripts import: torch, tyro, tensorboard, and gym==0.23.1 for those with EnvPool.

python tools/verify/try_cleanrl.py [FOLDER] [--only ppo dqn]    FOLDER: a copy of CleanRL; else the package `cleanrl`
"""

import argparse
import ast
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "learners" / "cleanrl.md"
CLASSIC = {  # script: arguments, whether the page promises the episodes of SyncVectorEnv
    "ppo": ("--num-envs 8 --total-timesteps 8192", True),
    "dqn": ("--learning-starts 500 --total-timesteps 3000", True),
    "sac_continuous_action": ("--env-id Pendulum-v1 --learning-starts 500 --total-timesteps 1400", True),
    "ppo_continuous_action": ("--env-id Hopper-v5 --num-envs 4 --num-steps 256 --total-timesteps 4096", False),
}
ENVPOOL = dict.fromkeys(("ppo_atari_envpool", "pqn_atari_envpool", "pqn_atari_envpool_lstm"), "--total-timesteps 4096")
# What the page's `batchenv.make` stands for, of Gymnasium's environments.
REFERENCE = """
def gymnasium_make(env_id, num_envs, autoreset_mode, record_episode_statistics, clip_actions=False):
    lanes = [lambda: gym.make(env_id)] * num_envs  # which do not ask whether an action is in its bounds
    return gym.wrappers.vector.RecordEpisodeStatistics(gym.vector.SyncVectorEnv(lanes, autoreset_mode=autoreset_mode))
"""


class Page:
    """The page's code and words."""

    def __init__(self) -> None:
        self.text = PAGE.read_text(encoding="utf-8")

    def block(self, beginning: str) -> str:
        """The code block that begins so."""
        for block in re.findall(r"^ *```python\n(.*?)^ *```", self.text, re.MULTILINE | re.DOTALL):
            lines = block.splitlines()
            indent = len(lines[0]) - len(lines[0].lstrip())
            if f"{lines[0].lstrip()}\n".startswith(beginning):
                return "\n".join(line[indent:] for line in lines)
        sys.exit(f"{PAGE.name} has no code block that begins with {beginning!r}: change this script with the page")

    def words(self, words: str) -> str:
        """These words, which stand on the page as code."""
        if f"`{words}`" not in " ".join(self.text.split()):
            sys.exit(f"{PAGE.name} no longer says `{words}`: change this script with the page")
        return words


def statement(tree: ast.Module, call: str) -> ast.stmt:
    """The innermost assignment to a name, or to a tuple, of what `call` returns."""
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).endswith(call)
    ]
    if len(found) != 1:
        sys.exit(f"there are {len(found)} assignments of what {call}() returns, not one: CleanRL has changed")
    return found[0]


def indented(code: str, node: ast.stmt) -> list[str]:
    return [" " * node.col_offset + line if line else "" for line in code.splitlines()]


def change_classic(name: str, source: str, page: Page, reference: bool) -> str:
    """The page's changes of a script with SyncVectorEnv. reference: with Gymnasium's lanes in place of batchenv's."""
    tree, lines = ast.parse(source), source.splitlines()
    made, stepped = statement(tree, "SyncVectorEnv"), statement(tree, "envs.step")
    if name == "ppo_continuous_action":
        make = page.block("envs = batchenv.make(\n")
    else:
        make = page.block("envs = batchenv.make(args.env_id")
    if name == "sac_continuous_action":
        make = make.replace(")", f", {page.words('clip_actions=True')})")
    if name in ("dqn", "sac_continuous_action"):
        make += "\n" + page.words("envs.single_action_space.seed(args.seed)")
    if reference:
        make = make.replace("batchenv.make", "gymnasium_make")
    # From the end to the beginning, so that lines before keep their numbers.
    infos = page.block('infos["final_info"] = [')
    lines[stepped.end_lineno : stepped.end_lineno] = indented(infos, stepped)
    lines[made.lineno - 1 : made.end_lineno] = indented(make, made)
    below = max(node.end_lineno for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom)))
    lines[below:below] = REFERENCE.splitlines() if reference else [page.words("import batchenv")]
    changed = "\n".join(lines)
    if name in ("dqn", "sac_continuous_action"):
        changed = changed.replace('infos["final_observation"]', page.words('infos["final_obs"]'))
    return changed + "\n"


def change_envpool(source: str, page: Page) -> str:
    """The page's changes of a script with EnvPool."""
    block = page.block("import batchenv as envpool")
    old, new = re.search(r'(env_type="gym")', block)[1], re.search(r'(env_type="envpool_gym")', block)[1]
    changed = source.replace("import envpool\n", block.partition("#")[0].strip() + "\n").replace(old, new)
    if changed.count(new) != 1:
        sys.exit("the script does not make its env as the page says: CleanRL has changed")
    return changed


def run(code: str, name: str, arguments: str, folder: Path) -> tuple[list[str], float]:
    """Runs a script; the lines in which it logs episodes, and seconds."""
    with tempfile.TemporaryDirectory() as work:
        script = Path(work) / f"{name}.py"
        script.write_text(code, encoding="utf-8")
        paths = [ROOT, folder, folder.parent, os.environ.get("PYTHONPATH", "")]  # CleanRL's own modules are there
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "OMP_NUM_THREADS": "1"}
        begin = time.perf_counter()
        done = subprocess.run(
            [sys.executable, str(script), "--no-cuda", *arguments.split()],
            cwd=work, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode:
        print(f"{done.stdout[-500:]}{done.stderr[-3000:]}")
        sys.exit(f"{name} ended with exit status {done.returncode}")
    return [line for line in done.stdout.splitlines() if "episodic_return" in line], time.perf_counter() - begin


def find(folder: str | None) -> Path:
    """The folder in which the scripts are."""
    if folder is None:
        spec = importlib.util.find_spec("cleanrl")
        places = [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []
    else:
        places = [Path(folder).resolve(), Path(folder).resolve() / "cleanrl"]
    for place in places:
        if (place / "ppo.py").exists():
            return place
    sys.exit("ppo.py of CleanRL was not found: name the folder of a copy of CleanRL")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--only", nargs="+", choices=[*CLASSIC, *ENVPOOL], default=[*CLASSIC, *ENVPOOL])
    args = parser.parse_args()
    folder, page = find(args.folder), Page()
    wrong = []
    for name in args.only:
        source = (folder / f"{name}.py").read_text(encoding="utf-8")
        arguments, same = CLASSIC.get(name) or (ENVPOOL[name], False)
        code = change_envpool(source, page) if name in ENVPOOL else change_classic(name, source, page, False)
        episodes, seconds = run(code, name, arguments, folder)
        told = f"{name}: {len(episodes)} episodes logged, {seconds:.0f} s"
        if not episodes:
            wrong.append(name)
        if same:
            expected, seconds = run(change_classic(name, source, page, True), name, arguments, folder)
            equal = episodes == expected
            told += f"; over SyncVectorEnv {'the same' if equal else 'OTHER'} {len(expected)}, {seconds:.0f} s"
            if not equal:
                wrong.append(name)
        print(told, flush=True)
    if wrong:
        sys.exit(f"wrong, or without episodes: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
