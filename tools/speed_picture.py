"""Draws docs/speed.png for README.md, from the figures that docs/performance.md has for 4,096 lanes.

python tools/speed_picture.py            # needs matplotlib
"""

import argparse
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
SECTION = "### EnvPool"
IDS = ("CartPole-v1", "MountainCar-v0", "Pendulum-v1", "Acrobot-v1", "FrozenLake-v1", "Taxi-v4")
STYLES = {  # column of the table: colour
    "batchenv": "#d1495b",
    "CartPoleVectorEnv": "#66a182",
    "EnvPool 1.2.7": "#2e4057",
    "SyncVectorEnv": "#9aa5b1",
}


def rates(page: Path, lanes: str = "4,096") -> dict[str, dict[str, float]]:
    """{id: {column: steps per second}}, from the rows with so many lanes in the first table after SECTION."""
    lines = page.read_text(encoding="utf-8").partition(SECTION)[2].splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    header = table[0]
    rows = [row for row in table if len(row) == len(header) and row[0] in IDS and row[1] == lanes]
    found = {}
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        millions = {name: cells[name].replace(",", "") for name in STYLES}
        found[row[0]] = {name: 1e6 * float(text) for name, text in millions.items() if text != "-"}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", default=DOCS / "speed.png")
    args = parser.parse_args()
    found = rates(DOCS / "performance.md")

    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    axes = figure.subplots()
    for place, env_id in enumerate(IDS):
        values = found[env_id]
        axes.hlines(place, min(values.values()), values["batchenv"], color="#e5e8eb", zorder=1)
        axes.annotate(
            f"{values['batchenv'] / 1e6:.0f} M", (values["batchenv"], place), (8, -3.5), textcoords="offset points"
        )
    for name, colour in STYLES.items():
        points = [(found[env_id][name], place) for place, env_id in enumerate(IDS) if name in found[env_id]]
        axes.scatter(*zip(*points, strict=True), s=55, color=colour, label=name, zorder=2)
    axes.set(xscale="log", xlabel="steps per second (one mark to the next: ten times as many)", xlim=(7e3, 5e8))
    axes.set_xticks([1e4, 1e5, 1e6, 1e7, 1e8], ["10,000", "100,000", "1 M", "10 M", "100 M"])
    axes.set_xticks([], minor=True)
    axes.set_yticks(range(len(IDS)), IDS)
    axes.set_ylim(len(IDS) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(True, axis="x", alpha=0.3)
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=len(STYLES), frameon=False)
    figure.savefig(args.picture, dpi=110)


if __name__ == "__main__":
    main()
