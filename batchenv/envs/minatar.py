"""MinAtar's five games, whose rules, keywords and pictures are in C. The package minatar is not needed."""

from __future__ import annotations

from batchenv.registry import Family, add_family

add_family(Family("MinAtar"))
