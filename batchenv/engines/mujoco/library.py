"""libmujoco, as the installed `mujoco` has it: its functions, models and data as addresses for the C core.

Nothing here knows the layout of MuJoCo's structs: the official bindings make models and data, and say where they and
their arrays are. csrc/engines/mujoco/mujoco.h says what is done with that.
"""

from __future__ import annotations

import copy
import ctypes
import functools
import hashlib
import os
import struct
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from batchenv.engines import memory

OLDEST = (3, 1)
DATA_BYTES = 500_000  # that an mjData fills, as the bindings make it, or a little more
INSTALL = 'pip install "batchenv[mujoco]"'

# In the order of be_mujoco_source.
_FUNCTIONS = (
    "mj_step",
    "mj_forward",
    "mj_resetData",
    "mj_rnePostConstraint",
    "mj_stateSize",
    "mj_getState",
    "mj_setState",
    "mju_error",
    "mju_warning",
)
_UPDATE_SLEEP = "mj_updateSleep"  # since bodies may sleep: 3.4
_HANDLERS = ("_mjPRIVATE__set_tls_error_fn", "_mjPRIVATE__set_tls_warning_fn", "_mjPRIVATE_setTlsLogHandler")
_CLOCK = "mjcb_time"  # a variable
# In the order of the first enum of mujoco.h: fields of mjData; then comes the model's body_mass.
FIELDS = (
    *("qpos", "qvel", "ctrl", "xpos", "xipos", "cinert", "cvel", "qfrc_actuator", "qfrc_constraint", "cfrc_ext"),
    *("site_xpos", "ten_length", "ten_velocity"),
)
_KEPT = ("sensordata", "cacc", "cfrc_int", "cfrc_ext", "subtree_linvel", "subtree_angmom")  # MJ_KEPT
_ALWAYS = ("qpos", "qvel", "ctrl")
_UNSTABLE = ("mjWARN_BADQPOS", "mjWARN_BADQVEL", "mjWARN_BADQACC", "mjWARN_BADCTRL")
_VERSION = 5  # BE_MUJOCO_SOURCE
_SLOT_GAP = 8  # MJ_SLOT_GAP
_FLAGS, _BODIES = 8, 3


@functools.cache
def load() -> tuple[Any, dict[str, int]]:
    """The `mujoco` module, and the addresses of its library's functions and of `mjcb_time` (0: it has none of
    that name).

    Raises:
        gymnasium.error.DependencyNotInstalled: mujoco is missing, broken, or of a version not supported.
    """
    try:
        import mujoco
    except Exception as error:  # a broken GL set-up raises other errors than ImportError
        raise DependencyNotInstalled(_why_not(error)) from error
    version = tuple(int(part) for part in mujoco.__version__.split(".")[:2])
    if version < OLDEST:
        raise DependencyNotInstalled(
            f"mujoco {mujoco.__version__} is too old: {OLDEST[0]}.{OLDEST[1]} or newer is needed: {INSTALL} --upgrade"
        )
    folder = Path(mujoco.__file__).parent
    found = sorted([*folder.glob("libmujoco*.so*"), *folder.glob("libmujoco*.dylib"), *folder.glob("mujoco.dll")])
    if not found:
        raise DependencyNotInstalled(f"no libmujoco beside {mujoco.__file__}: {INSTALL} --force-reinstall")
    library = ctypes.CDLL(str(found[0]))

    def address(name: str) -> int:
        function = getattr(library, name, None)
        return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0

    functions = {name: address(name) for name in (*_FUNCTIONS, _UPDATE_SLEEP, *_HANDLERS, _CLOCK)}
    missing = [name for name in _FUNCTIONS if not functions[name]]
    if not any(functions[name] for name in (_HANDLERS[0], _HANDLERS[2])):
        missing.append(_HANDLERS[2])  # errors would end the process
    if missing:
        raise DependencyNotInstalled(
            f"mujoco {mujoco.__version__} is not supported by this batchenv: its library has no {', '.join(missing)}; "
            "install a newer batchenv, or mujoco 4.0"
        )
    return mujoco, functions


def _why_not(error: Exception) -> str:
    """Why mujoco cannot be imported, and what helps."""
    try:
        os.getcwd()
    except OSError as gone:
        return (
            f"mujoco cannot be imported from a working directory that is gone ({gone}): change into one that exists, "
            "with os.chdir(), first"
        )
    if isinstance(error, ModuleNotFoundError) and error.name == "mujoco":
        return f"MuJoCo's environments need mujoco: {INSTALL} ({error})"
    return (
        f"mujoco is installed, but cannot be imported: {type(error).__name__}: {error}; MUJOCO_GL="
        f"{os.environ.get('MUJOCO_GL')!r} may be wrong here, or reinstall it: {INSTALL} --force-reinstall"
    )


def _xml_error(what: str, error: Exception) -> ValueError:
    mujoco, _ = load()
    return ValueError(f"{what} is not a model that mujoco {mujoco.__version__} reads: {error}")


def _compiler_error(what: str, error: RuntimeError) -> RuntimeError:
    """MuJoCo's compiler starts threads, and tells of one that it cannot have by an error without a reason."""
    return RuntimeError(
        f"{what}: MuJoCo could not compile this model: {error}. If it can at other times, it lacked memory, or could "
        "not start a thread: raise the limit (ulimit -u, ulimit -v, a container's), or use fewer threads elsewhere"
    )


def read_model(path: str | Path) -> Any:
    """The mjModel of an XML file.

    Raises:
        OSError: there is no such file.
        ValueError: it is no model.
    """
    mujoco, _ = load()
    if "\0" in str(path) or not Path(path).exists():
        raise FileNotFoundError(f"xml_file: there is no file {str(path)!r}")
    if Path(path).is_dir():
        raise IsADirectoryError(f"xml_file={str(path)!r} is a folder: name a model's file")
    try:
        return mujoco.MjModel.from_xml_path(str(path))
    except (ValueError, TypeError) as error:  # TypeError: a path that is no UTF-8
        raise _xml_error(f"xml_file={str(path)!r}", error) from None
    except RuntimeError as error:
        raise _compiler_error(f"xml_file={str(path)!r}", error) from error


def parse_model(text: str) -> Any:
    """The mjModel of XML text. Raises ValueError: it is no model."""
    mujoco, _ = load()
    try:
        text.encode()
        return mujoco.MjModel.from_xml_string(text)
    except ValueError as error:  # UnicodeEncodeError is one
        raise _xml_error("xml", error) from None
    except RuntimeError as error:
        raise _compiler_error("xml", error) from error


def fingerprint(model: Any) -> int:
    """A number that differs between models and between versions of MuJoCo."""
    mujoco, _ = load()
    digest = hashlib.blake2b(mujoco.__version__.encode(), digest_size=8)
    for part in (model, model.opt):
        for name in sorted(dir(part)):
            value = None if name.startswith("_") else getattr(part, name, None)
            if isinstance(value, (int, float, np.ndarray)):
                digest.update(name.encode())
                digest.update(np.ascontiguousarray(value).tobytes())
    return int.from_bytes(digest.digest(), "little", signed=True)


def idle_flags(model: Any) -> int:
    """Which of MuJoCo's stages can do nothing for this model, wherever its bodies are: bits of `opt.disableflags`.

    - Contacts are searched for even where no two geoms may touch: a fifth of a pendulum's step.
    - Constraints are sorted into islands that do not touch each other, to be solved one by one. All that move belong to
      one tree of joints: there is one island, and the numbers are the same without. From 2% to 8% of a step.
    """
    mujoco, _ = load()
    flags = mujoco.mjtDisableBit
    if model.opt.enableflags or getattr(model, "nflex", 0):  # sleeping needs islands
        return 0
    bits = 0 if _may_touch(model) else int(flags.mjDSBL_CONTACT)
    if getattr(model, "ntree", 0) == 1:
        bits |= int(getattr(flags, "mjDSBL_ISLAND", 0))
    return bits


def _may_touch(model: Any) -> bool:
    mujoco, _ = load()
    if model.npair or mujoco.get_mjcb_contactfilter() is not None:  # the user's own rules
        return True
    # MuJoCo's rules: the bodies are not welded together, and the type of one geom has a bit of the other's affinity.
    kinds = np.column_stack([model.body_weldid[model.geom_bodyid], model.geom_contype, model.geom_conaffinity])
    body, kind, affinity = np.unique(kinds, axis=0).T
    return bool(((kind[:, None] & affinity) != 0)[body[:, None] != body].any())


def _address(array: NDArray[Any]) -> int:
    return array.__array_interface__["data"][0]


class Lanes:
    """`count` lanes of a model, and all that the C core needs of them in `source`.

    A lane is a row of numbers: MuJoCo's integration state and the arrays that the task reads. The few mjData there are
    are lent to lanes for a step. Lanes share the model until `put_model` gives one its own.

    Args:
        threads: how many may step lanes at once.
        reads: which of FIELDS the task reads, beside qpos, qvel and ctrl.
        flags, bodies: the type's own numbers, see mujoco.h.
        observed: further fields of mjData, in the order in which they are observed.
    """

    def __init__(
        self,
        model: Any,
        count: int,
        threads: int,
        reads: Sequence[str] = (),
        flags: list[int] | None = None,
        bodies: list[int] | None = None,
        observed: list[str] | None = None,
    ):
        mujoco, functions = load()
        number = fingerprint(model)
        idle = idle_flags(model)
        if idle:
            model = copy.copy(model)
            model.opt.disableflags |= idle
        self.model = model
        first = mujoco.MjData(model)
        self.signature = int(mujoco.mjtState.mjSTATE_INTEGRATION)
        self.state_size = int(mujoco.mj_stateSize(model, self.signature))
        self.init_qpos, self.init_qvel = first.qpos.copy(), first.qvel.copy()
        self.low, self.high = (np.array(bound) for bound in model.actuator_ctrlrange.T)
        # mjData of lanes that sleep or have plugins hold more than their integration state: each has its own.
        trees = int(model.ntree) if _sleeps(mujoco, model) else 0
        self._sleeps = trees > 0
        kept = [getattr(first, name).size * self._sleeps for name in _KEPT]
        self._row_size = self.state_size + sum(kept) + (trees + 1) // 2  # doubles
        slots = count if trees or getattr(model, "nplugin", 0) else min(count, threads + 1)
        rows = count * self._row_size * 16
        memory.check(
            f"{count} lanes of MuJoCo", slots * DATA_BYTES + rows, (slots - 1) * (first.nbuffer + first.narena) + rows
        )
        self.models = [model] * count
        self._slots = [first, *(mujoco.MjData(model) for _ in range(slots - 1))]

        self._fields = [*FIELDS, *(observed or [])]
        used = [name in _ALWAYS or name in reads for name in FIELDS] + [True] * len(observed or [])
        sizes = [getattr(first, name).size * use for name, use in zip(self._fields, used, strict=True)]
        self._starts = 2 * self._row_size + np.cumsum([0, *sizes])
        self.records = np.zeros((count, self._starts[-1]))
        mass = len(FIELDS)
        self._copied = np.array(sizes, np.int64) > 0
        self._copied = np.insert(self._copied, mass, False).astype(np.int64)
        self._sizes = np.insert(np.array(sizes, np.int64), mass, model.nbody)

        starts = np.insert(self._starts[:-1], mass, 0)
        offsets = np.array([0, 0, self._row_size, *starts], np.int64) * 8
        rows = np.arange(count, dtype=np.int64) * self.records.strides[0] + _address(self.records)
        self.table = rows[:, None] + offsets
        self._masses = 3 + mass
        self.table[:, 0], self.table[:, self._masses] = model._address, _address(model.body_mass)
        self._slot_table = np.zeros((slots, 4 + len(_KEPT) + len(self._sizes) + _SLOT_GAP), np.int64)
        for row, data in zip(self._slot_table, self._slots, strict=True):
            arrays = [_address(getattr(data, name)) for name in self._fields]
            sleep = [_address(getattr(data, name)) if trees else 0 for name in ("tree_asleep", *_KEPT)]
            row[:-_SLOT_GAP] = [
                *(data._address, _address(data.warning.number), 0, *sleep),
                *(*arrays[:mass], 0, *arrays[mass:]),
            ]
        words = [
            _VERSION,
            count,
            *(functions[name] for name in (*_FUNCTIONS, _UPDATE_SLEEP, *_HANDLERS, _CLOCK)),
            number,
            model.nq,
            model.nv,
            model.nu,
            model.nbody,
            struct.unpack("<q", struct.pack("<d", model.opt.timestep))[0],
            *(_address(array) for array in (self.init_qpos, self.init_qvel, self.low, self.high)),
            self.signature,
            first.warning.number.strides[0],
            *(int(getattr(mujoco.mjtWarning, name)) for name in _UNSTABLE),
            *_filled(flags, _FLAGS),
            *_filled(bodies, _BODIES),
            *fused(),
            self.state_size,
            trees,
            *kept,
            self._row_size,
            len(self._sizes),
            *(_address(array) for array in (self._sizes, self._copied, self.table)),
            slots,
            _address(self._slot_table),
        ]
        self.source = np.array(words, np.int64)

    def __len__(self) -> int:
        return len(self.models)

    def field(self, name: str) -> NDArray[np.float64]:
        """A copy of what lanes have of qpos, qvel or ctrl: (lanes, size)."""
        start, end = self._starts[FIELDS.index(name) :][:2]
        return self.records[:, start:end].copy()

    def data(self, lane: int, stepped: bool, target: Any = None) -> Any:
        """An mjData as the lane's own would be: a new one, or `target` if that will do.

        stepped: there was a step since the reset.
        """
        mujoco, _ = load()
        model, size = self.models[lane], self.state_size
        if self._sleeps:  # the lane has its own
            target = copy.copy(self._slots[lane])
            if stepped:
                mujoco.mj_rnePostConstraint(model, target)
            return target
        if target is None:
            target = mujoco.MjData(model)
        mujoco.mj_resetData(model, target)
        row = self.records[lane]
        mujoco.mj_setState(model, target, row[size : 2 * size] if stepped else row[:size], self.signature)
        if stepped:
            mujoco.mj_step(model, target)
            mujoco.mj_rnePostConstraint(model, target)
        else:
            mujoco.mj_forward(model, target)
        return target

    def put_model(self, lane: int, model: Any) -> None:
        """Gives a lane a model of its own, while no worker is at it."""
        self.table[lane, 0], self.table[lane, self._masses] = model._address, _address(model.body_mass)
        self.models[lane] = model


def _sleeps(mujoco: Any, model: Any) -> bool:
    flag = getattr(mujoco.mjtEnableBit, "mjENBL_SLEEP", None)
    return flag is not None and bool(model.opt.enableflags & int(flag))


def _filled(numbers: list[int] | None, count: int) -> list[int]:
    numbers = [int(number) for number in numbers or []]
    if len(numbers) > count:  # what follows in the table would be something else
        raise ValueError(f"{len(numbers)} numbers do not fit into {count} places: widen MJ_FLAGS or MJ_BODIES, too")
    return numbers + [0] * (count - len(numbers))


@functools.cache
def fused() -> tuple[int, int]:
    """Whether NumPy's dot of two or three numbers, and its einsum, use fused multiply-adds: (1 or 0, 1 or 0).

    They round otherwise, and Gymnasium's rewards and infos go through them.
    """
    rng = np.random.default_rng(20261101)
    vectors = rng.uniform(-1, 1, (64, 3))
    masses, places = rng.uniform(0, 9, (16, 5)), rng.uniform(-1, 1, (16, 5, 3))

    def total(pairs: list[tuple[float, float]]) -> float:
        result = 0.0
        for a, b in pairs:
            result = float(Fraction(a) * Fraction(b) + Fraction(result))
        return result

    dot = all(v[:n].dot(v[:n]) == total([(x, x) for x in v[:n].tolist()]) for v in vectors for n in (2, 3))
    sums = [np.einsum("b,bj->j", mass, place) for mass, place in zip(masses, places, strict=True)]
    einsum = all(
        values[j] == total(list(zip(mass.tolist(), place[:, j].tolist(), strict=True)))
        for values, mass, place in zip(sums, masses, places, strict=True)
        for j in range(3)
    )
    return int(dot), int(einsum)
