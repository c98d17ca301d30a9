"""EnvPool's names for keywords of `make`, and what they mean here: docs/reference/from-envpool.md lists them."""

from __future__ import annotations

from typing import Any

from batchenv.arguments.numbers import integer
from batchenv.backend.transforms import flag

# Keywords that can have only one value here: that value, and what to use instead of the others.
_COMMON = {
    "max_num_players": (1, "players=2 makes a game for two, where the game has one (docs/envs/atari.md)"),
    "gym_reset_return_info": (True, "env_type='gym' is the API whose reset() returns observations alone"),
}
COMMON = (*_COMMON, "thread_affinity_offset")  # the keywords that `keywords` translates for every environment
_ATARI = {
    "gray_scale": (
        True,
        "obs_type='rgb' gives colours, of shape (stack_num, height, width, 3), not (3 * stack_num, height, width)",
    ),
    "use_inter_area_resize": (True, "frames are always resized by area"),
    "zero_discount_on_life_loss": (
        False,
        "infos['life_lost'] says where a life was lost, and episodic_life=True ends episodes there",
    ),
}
_PROCGEN = {
    "use_easy_jump": (False, "only coinrun_old has it, a game that procgen does not offer"),
}
_PROCGEN_MODES = {0: "easy", 1: "hard", 2: "extreme", 10: "memory", 20: "exploration"}
_OF_EXTRA: dict[str | None, dict[str, Any]] = {"atari": _ATARI, "procgen": _PROCGEN}


def keywords(extra: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """The keywords of `make`, with EnvPool's translated into batchenv's, for an environment of this extra.

    Raises:
        TypeError: a wrong type, or two keywords for the same thing.
        ValueError: a value that batchenv does not support; the message says what to use instead.
    """
    result = dict(given)
    for name, (only, instead) in {**_COMMON, **_OF_EXTRA.get(extra, {})}.items():
        if name not in result:
            continue
        value = result.pop(name)
        value = flag(name, value) if isinstance(only, bool) else integer(name, value, 1, None)
        if value != only:
            raise ValueError(f"{name}={value!r} is not supported, only {only!r} is: {instead}")
        if name == "gray_scale" and result.setdefault("obs_type", "grayscale") != "grayscale":
            raise TypeError(
                f"gray_scale=True and obs_type={result['obs_type']!r} contradict each other: give one of them"
            )
    if "thread_affinity_offset" in result:
        offset = integer("thread_affinity_offset", result.pop("thread_affinity_offset"), -1, None, "; -1: no pinning")
        if "thread_affinity" in result:
            raise TypeError("thread_affinity_offset says what thread_affinity says: give one of them")
        if offset >= 0:
            result["thread_affinity"] = offset
    for name in ("mode", "difficulty") if extra == "atari" else ():
        if type(result.get(name)) is int and result[name] == -1:
            result[name] = None  # the game's own
    mode = result.get("distribution_mode")
    if extra == "procgen" and type(mode) is int:
        result["distribution_mode"] = _PROCGEN_MODES.get(mode, mode)
    return result
