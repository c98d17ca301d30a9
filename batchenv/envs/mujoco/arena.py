"""Where an mjData says which rows of constraints its arena holds.

The C core reads rows that MuJoCo has made. They lie elsewhere after each step, and no layout of mjData is compiled in:
so the places of the numbers and pointers that tell where they are are looked up here, in an mjData whose numbers and
pointers are known.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from batchenv import _core

_MOST_BYTES = 2048  # between mjData.energy and the last of the pointers
_COUNTS = ("ncon", "ne", "nf", "nl", "nefc")  # follow each other

# As many rows of each kind as nowhere else in an mjData; the second state has others.
_MODEL = """<mujoco><option jacobian="sparse"/><worldbody><geom type="plane" size="9 9 1"/>
<body pos="0 0 .05"><freejoint/><geom type="box" size=".1 .1 .1"/>
<body pos="0 0 .2"><joint name="a" axis="0 1 0" frictionloss="1" range=".1 1" limited="true"/><geom size=".02"/>
<body pos="0 0 .1"><joint name="b" axis="0 1 0" frictionloss="1"/><geom size=".02"/></body></body></body>
<body pos="3 0 .09"><freejoint/><geom size=".1"/></body></worldbody>
<equality><joint joint1="a" joint2="b"/></equality></mujoco>"""


@functools.cache
def places(mujoco: Any) -> list[int]:
    """In bytes, in the order of _core.MUJOCO_PLACES; empty if they are not found."""
    model = mujoco.MjModel.from_xml_string(_MODEL)
    first, second = (_places_in(mujoco, model, height) for height in (0.05, 2.0))
    counts = first[0] & second[0]
    if len(counts) != 1 or first[1] != second[1] or len(first[1]) < len(_core.MUJOCO_PLACES) - 1:
        return []
    return [counts.pop(), *(first[1][name] for name in _core.MUJOCO_PLACES[1:])]


def _places_in(mujoco: Any, model: Any, height: float) -> tuple[set[int], dict[str, int]]:
    """Where the counts may be, and where all else is that was found."""
    data = mujoco.MjData(model)
    data.qpos[2] = height
    mujoco.mj_fwdPosition(model, data)  # without the user's callbacks
    energy = data.energy.ctypes.data - data._address  # numbers are before it, and pointers after it
    memory = np.frombuffer(ctypes.string_at(data._address, energy), np.int32)
    windows = np.lib.stride_tricks.sliding_window_view(memory, len(_COUNTS))
    matches = (windows == [getattr(data, name) for name in _COUNTS]).all(1)
    contact = data.contact.dist  # a contact begins with it
    found = {"contact size": contact.strides[0]}
    for name in ("dim", "mu", "friction", "pos", "frame", "geom"):
        found[f"contact {name}"] = getattr(data.contact, name).ctypes.data - contact.ctypes.data
    sought = {getattr(data, name).ctypes.data: name for name in _core.MUJOCO_PLACES if "_" in name}
    sought[contact.ctypes.data] = "contact"
    for place in range(energy, energy + _MOST_BYTES, 8):
        if not sought:  # what follows may not be the mjData's
            break
        name = sought.pop(ctypes.c_uint64.from_address(data._address + place).value, None)
        if name is not None:
            found[name] = place
    return set((memory.itemsize * np.flatnonzero(matches)).tolist()), found
