"""The games of Procgen, and the ids they go by."""

from __future__ import annotations

from typing import Any

# The modes of each game beside "easy" and "hard". The C type refuses others: the library would end the process.
MODES: dict[str, tuple[str, ...]] = {
    "bigfish": (),
    "bossfight": (),
    "caveflyer": ("memory", "exploration"),
    "chaser": ("extreme",),
    "climber": ("exploration",),
    "coinrun": ("exploration",),
    "dodgeball": ("extreme", "memory"),
    "fruitbot": (),
    "heist": ("memory", "exploration"),
    "jumper": ("memory", "exploration"),
    "leaper": ("extreme", "exploration"),
    "maze": ("memory", "exploration"),
    "miner": ("memory",),
    "ninja": ("exploration",),
    "plunder": (),
    "starpilot": ("extreme",),
}


def ids() -> dict[str, dict[str, Any]]:
    """Every Procgen id and its keywords: those of procgen, and EnvPool's, which has one per mode."""
    table: dict[str, dict[str, Any]] = {}
    for game, modes in MODES.items():
        table[f"procgen-{game}-v0"] = {"game": game}
        for mode in ("easy", "hard", *modes):
            keywords = {"game": game, "distribution_mode": mode, "channel_first": True}
            table[f"{game.capitalize()}{mode.capitalize()}-v0"] = keywords
    return table
