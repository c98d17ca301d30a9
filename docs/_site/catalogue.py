"""The site's pages of environments: one per family, with a picture of every environment, its spaces, keywords and
infos, and its speed. All of it is read from batchenv itself while the site is built, so that it cannot fall behind."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from PIL import Image

import batchenv
from batchenv import _core
from batchenv.cli.bench import how, significant
from batchenv.cli.describe import installed, limits, space_text
from batchenv.registry import TABLE

INTROS = {  # what the page of a family begins with, in the order of the site; other families come last
    "classic control": "Gymnasium's five physics toys, as kernels.",
    "toy text": "Small worlds with numbered states, which tables could solve.",
    "Box2D": "A lander and a walker of jointed bodies. No library is needed.",
    "MiniGrid": "Rooms, keys and doors, seen from within.",
    "BabyAI": "MiniGrid's rooms, with tasks given as sentences.",
    "MinAtar": "Five Atari games on a field of ten by ten cells.",
    "MuJoCo": "Gymnasium's eleven robots, several at a time in one register.",
    "MuJoCo Playground": "Robots that learn to walk, on a CPU.",
    "mjlab": "Robots that learn to walk, on a CPU.",
    "Gymnasium-Robotics": "Robots with goals, which learners may change in hindsight.",
    "Meta-World": "An arm that does something with an object: tasks for multi-task learning.",
    "Procgen": "Sixteen games whose levels are drawn from seeds, as a test of generalisation.",
    "Atari": "The Arcade Learning Environment: 108 games, some for several players.",
}
DOCS = Path(__file__).parents[1]
STEPS, WIDTH, FRAME_MS = 60, 240, 80
ATARI_FRAMES = 200  # random actions before a game's picture is taken: most titles are gone by then


def write(source: Path, rates: dict[str, Any], pictures: bool) -> list[str]:
    """Writes the pages of all families into the folder `source`, with those pictures that are there already or, if
    `pictures`, with all, and lists them in its envs/README.md. `rates`: what `python -m batchenv bench --json` has
    written. Returns the names of environments without a picture."""
    folder = source / "environments"
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    undrawn: list[str] = []

    def shown(name: str, draw: Callable[[str, Path], bool]) -> str | None:
        """The environment's picture, as seen from its page; None if it has none."""
        path = folder / "pictures" / f"{name.replace('/', '-')}.webp"
        if path.exists() or (pictures and draw(name, path)):
            return f"pictures/{path.name}"
        undrawn.append(name)
        return None

    families = sorted({entry.family for entry in TABLE.values() if entry.listed}, key=order)
    for family in [family for family in families if not installed(family)]:
        print(f"left out, since its packages are not installed: {family}")
        families.remove(family)
    pages = []
    for family in families:
        page, title, intro = family.lower().replace(" ", "-"), family[0].upper() + family[1:], INTROS.get(family, "")
        ids = [name for name, entry in TABLE.items() if entry.listed and entry.family == family]
        lines = [f"# {title}", "", f"{intro} Pictures show a random policy; spaces are those of one lane.".lstrip(), ""]
        more = f"envs/{'minigrid' if family == 'BabyAI' else page}.md"
        if (DOCS / more).exists():
            lines += [f"[More about them](../{more}): keywords, what is exact, and what differs from others.", ""]
        if any(rate(name, rates) for name in ids):
            lines += [f"Speeds are from `python -m batchenv bench all` (processor: {rates['cpu']}). {how(rates)}", ""]
        body = atari_gallery(ids, rates, shown) if family == "Atari" else sections(ids, rates, shown)
        (folder / f"{page}.md").write_text("\n".join([*lines, *body]) + "\n", encoding="utf-8")
        pages.append((page, title, intro, len(ids)))
    rows = [f"| [{title}](../environments/{page}.md) | {count} | {intro} |" for page, title, intro, count in pages]
    toc = ["```{toctree}", ":hidden:", "", *(f"/environments/{page}" for page, *_ in pages), "```"]
    with open(source / "envs" / "README.md", "a", encoding="utf-8") as file:
        file.write("\n".join(["", *toc, "", "| family | ids | |", "|---|---:|---|", *rows, ""]))
    return undrawn


def order(family: str) -> tuple[int, str]:
    known = list(INTROS)
    return (known.index(family) if family in known else len(known), family)


def sections(ids: list[str], rates: dict[str, Any], shown: Callable[..., str | None]) -> Iterator[str]:
    """A section per C type, with all ids of the type, and the keywords that all types have."""
    types: dict[str, list[str]] = {}
    for name in ids:
        types.setdefault(TABLE[name].type_name, []).append(name)
    keywords = {type_name: keyword_rows(type_name, names[0]) for type_name, names in types.items()}
    common = [row for row in next(iter(keywords.values())) if all(row in rows for rows in keywords.values())]
    if len(types) == 1:
        common = []
    for type_name, names in types.items():
        env = batchenv.make(names[0], 1)
        yield from [f"## {type_name}", ""]
        if len(names) > 1:
            yield from gallery(names, shown, draw)
        elif picture := shown(names[0], draw):
            yield f"![{names[0]}]({picture}){{.env-picture}}"
        yield from ["", f"observation: {spaces_text(env.single_observation_space)}  "]
        yield from [f"action: {spaces_text(env.single_action_space)}", ""]
        yield from id_table(names, rates)
        yield from keyword_table([row for row in keywords[type_name] if row not in common])
        yield from info_table(type_name)
    if common:
        yield from ["## Keywords of all", "", *keyword_table(common)]


def gallery(names: list[str], shown: Callable[..., str | None], draw: Callable[[str, Path], bool]) -> Iterator[str]:
    """The pictures of several environments, with their ids."""
    figures = [
        [f":::{{figure}} {picture}", f":alt: {name}", f"`{name}`", ":::"]
        for name in names
        if (picture := shown(name, draw))
    ]
    if figures:
        yield from ["", "::::{container} env-gallery", *(line for figure in figures for line in figure), "::::"]


def id_table(names: list[str], rates: dict[str, Any]) -> Iterator[str]:
    """The ids of a type. A column that is empty for all of them is left out."""
    columns = {
        "step limit": [TABLE[name].max_episode_steps or "" for name in names],
        "solved at": [TABLE[name].reward_threshold or "" for name in names],
        "steps per second": [rate(name, rates) for name in names],
    }
    columns = {title: cells for title, cells in columns.items() if any(cells)}
    if not columns:
        yield from [", ".join(f"`{name}`" for name in names), ""]
        return
    yield from [f"| id | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    for name, *cells in zip(names, *columns.values(), strict=True):
        yield f"| `{name}` | {' | '.join(map(str, cells))} |"
    yield ""


def spaces_text(space: Any) -> str:
    if isinstance(space, gymnasium.spaces.Text) and "charset=" in space_text(space):
        return "`Text`"  # its characters would fill a line, and one of them ends Markdown's code
    return (
        ", ".join(f"`{name}` {spaces_text(part)}" for name, part in space.items())
        if isinstance(space, gymnasium.spaces.Dict)
        else f"`{space_text(space)}`"
    )


def rate(name: str, rates: dict[str, Any]) -> str:
    """The environment's row of a benchmark, or nothing."""
    found = [row for row in rates.get("rows", ()) if row["id"] == name]
    return ", ".join(f"{significant(row['steps_per_second']['batchenv'])} with {row['lanes']:,} lanes" for row in found)


def keyword_rows(type_name: str, env_id: str) -> list[tuple[str, str, str, str]]:
    """(name, default, values, meaning) of each keyword."""
    entry, translator = TABLE[env_id], batchenv.make(env_id, 1)._backend.translator
    rows = [(name, repr(entry.kwargs.get(name, default)), "", text) for name, default, text in translator.KEYWORDS]
    for row in _core.type_info(type_name)["params"]:
        values = limits(row) + ("; by lane" if row["per_lane"] else "")
        rows.append((row["name"], repr(entry.kwargs.get(row["name"], row["default"])), values, row["doc"]))
    return rows


def keyword_table(rows: list[tuple[str, str, str, str]]) -> Iterator[str]:
    if rows:
        yield from ["| keyword | default | values | |", "|---|---|---|---|"]
        yield from (f"| `{name}` | `{default}` | {values} | {cell(text)} |" for name, default, values, text in rows)
        yield ""
    if any("; by lane" in values for _, _, values, _ in rows):
        yield from ["*By lane*: the values may differ from lane to lane.", ""]


def info_table(type_name: str) -> Iterator[str]:
    rows = _core.type_info(type_name)["info"]
    if rows:
        yield from ["| info | dtype | |", "|---|---|---|"]
        for row in rows:
            size = f"[{row['size']}]" if row["size"] > 1 else ""
            yield f"| `{row['name']}` | `{row['dtype']}{size}` | {cell(row['doc'])} |"
        yield ""


def cell(text: str) -> str:
    return text.replace("|", "\\|")


# ---- pictures ------------------------------------------------------------------------------------------------------


def draw(name: str, path: Path) -> bool:
    """Draws some steps of a random policy as an animation. Returns whether the environment can be drawn."""
    env = batchenv.make(name, 1)
    if "rgb_array" not in env.class_metadata(name)["render_modes"]:
        return draw_board(env, path)
    # MuJoCo draws in any size, and without a graphics card a smaller picture takes much less time.
    size = {"width": WIDTH, "height": WIDTH} if TABLE[name].family.startswith("MuJoCo") else {}
    env = batchenv.make(name, 1, render_mode="rgb_array", **size)
    env.reset(seed=0)
    env.action_space.seed(0)
    frames = []
    for _ in range(STEPS):
        frames.append(shrink(env.render()[0]))
        env.step(env.action_space.sample())
    env.close()
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=FRAME_MS, loop=0, quality=60, method=4)
    return True


def draw_board(env: Any, path: Path) -> bool:
    """Draws the observations of an environment that has no pictures, where they are a board or a place in a row."""
    space = env.single_observation_space
    discrete = isinstance(space, gymnasium.spaces.Discrete)
    if not discrete and (not isinstance(space, gymnasium.spaces.Box) or len(space.shape) != 2):
        return False
    observations, _ = env.reset(seed=0)
    frames = []
    for _ in range(STEPS):
        board = np.eye(space.n)[observations[0]][None] if discrete else observations[0]
        grey = (255 - 200 * (board - board.min()) / max(np.ptp(board), 1e-9)).astype(np.uint8)
        frames.append(Image.fromarray(np.kron(grey, np.ones((24, 24), np.uint8))))
        observations = env.step(env.action_space.sample())[0]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=4 * FRAME_MS, loop=0)
    return True


def shrink(picture: np.ndarray) -> Image.Image:
    image = Image.fromarray(picture)
    return image.resize((WIDTH, round(image.height * WIDTH / image.width))) if image.width > WIDTH else image


def atari_gallery(ids: list[str], rates: dict[str, Any], shown: Callable[..., str | None]) -> Iterator[str]:
    """The forms of ids, the spaces of one, speeds, a picture per game, and the keywords."""
    games = sorted(name for name in ids if name.startswith("ALE/"))
    yield from ["| form of ids | games | |", "|---|---:|---|"]
    for form, meaning in (
        ("ALE/{}-v5", "as `gymnasium.make_vec` has them, with ale-py's preprocessing in C"),
        ("{}NoFrameskip-v4", "a frame per step, and no preprocessing"),
        ("{}-v5", "as EnvPool has them; two-player games among them"),
    ):
        start, end = form.split("{}")
        count = sum(name.startswith(start) and name.endswith(end) and ("/" in name) == ("/" in form) for name in ids)
        yield f"| `{form.format('Pong')}` | {count} | {meaning} |"
    env = batchenv.make(games[0], 1)
    yield from ["", f"observation: {spaces_text(env.single_observation_space)}  "]
    yield from ["action: `Discrete(3)` to `Discrete(18)`, those that the game knows; all with `full_action_space`", ""]
    measured = [(name, speed) for name in ids if (speed := rate(name, rates))]
    if measured:
        yield from ["| id | steps per second |", "|---|---:|", *(f"| `{name}` | {speed} |" for name, speed in measured)]
    yield from gallery(games, shown, draw_game)
    yield from ["", "## Keywords", ""]
    yield from keyword_table(keyword_rows(TABLE[games[0]].type_name, games[0]))


def draw_game(name: str, path: Path) -> bool:
    env = batchenv.make(name, 1, render_mode="rgb_array")
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(ATARI_FRAMES // 4):
        env.step(env.action_space.sample())
    Image.fromarray(env.render()[0]).save(path, quality=70, method=6)
    env.close()
    return True


def load_rates(path: Path) -> dict[str, Any]:
    """What `python -m batchenv bench all` has measured, from the file with all measurements."""
    return json.loads(path.read_text(encoding="utf-8"))["bench"]
