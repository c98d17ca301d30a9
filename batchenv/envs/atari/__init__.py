"""Atari games: the emulator's library, the ROMs, and which games and modes there are."""

from batchenv.envs.atari.games import ids
from batchenv.registry import Entry, Family, add_family, put

add_family(
    Family(
        "Atari",
        translators="batchenv.envs.atari.translator",
        extra="atari",
        packages=("multi_agent_ale_py", "ale_py"),
        typical=("ALE/Breakout-v5", "ALE/Pong-v5"),
        bench_lanes=64,
    )
)
for _name, (_limit, _keywords) in ids().items():
    put(_name, Entry("Atari", _limit, None, 30, _keywords, family="Atari"))
