"""Draws docs/speed.png for README.md, from the measurements with 4,096 lanes against EnvPool.

python tools/generate/speed_picture.py            # needs matplotlib
"""

import argparse

import write_benchmarks

TABLE = "Against EnvPool"
IDS = ("CartPole-v1", "MountainCar-v0", "Pendulum-v1", "Acrobot-v1", "FrozenLake-v1", "Taxi-v4")
STYLES = {  # column of the table: colour
    "batchenv": "#d1495b",
    "CartPoleVectorEnv": "#66a182",
    "EnvPool 1.2.7": "#2e4057",
    "SyncVectorEnv": "#9aa5b1",
}


def rates(lanes: int = 4096) -> dict[str, dict[str, float]]:
    """{id: {column: steps per second}}, from the rows with that number of lanes."""
    (table,) = [table for table in write_benchmarks.load()["pages"]["steps"]["tables"] if table["title"] == TABLE]
    header = [column["name"] for column in table["columns"]]
    rows = [dict(zip(header, row, strict=True)) for row in table["rows"]]
    return {
        row["env"]: {name: 1e6 * float(row[name]) for name in STYLES if row[name] is not None}
        for row in rows
        if row["env"] in IDS and row["lanes"] == lanes
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", default=write_benchmarks.FOLDER.parent / "speed.png")
    args = parser.parse_args()
    found = rates()

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
