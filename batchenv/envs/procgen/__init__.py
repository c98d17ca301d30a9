"""Procgen's games: which there are, and where their library is."""

from batchenv.envs.procgen.files import INSTALL
from batchenv.envs.procgen.games import ids
from batchenv.registry import Entry, Family, add_family, put

add_family(
    Family(
        "Procgen",
        translators="batchenv.envs.procgen.translator",
        extra="procgen",
        packages=("procgen",),
        install=INSTALL,
        typical=("procgen-coinrun-v0", "procgen-starpilot-v0"),
        bench_lanes=64,
    )
)
for _name, _keywords in ids().items():
    put(_name, Entry("Procgen", None, None, 15, _keywords, family="Procgen"))
