"""The libmujoco of the installed `mujoco` package: addresses of its functions, models and data for the C core.

This module does not know the layout of MuJoCo's structs: the official bindings make models and data, and say where they
and their arrays are. csrc/engines/mujoco/mujoco.h describes how they are used.
"""

from __future__ import annotations

import copy
import ctypes
import functools
import hashlib
import importlib
import os
from collections import OrderedDict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from batchenv import _core
from batchenv.envs.mujoco import carried_arrays as kept_arrays
from batchenv.envs.mujoco import inputs, shares
from batchenv.envs.mujoco import physics as steps
from batchenv.envs.mujoco.acting import Acting
from batchenv.envs.mujoco.features import version_of
from batchenv.envs.mujoco.reads import OF_MODEL, Read
from batchenv.system import memory

OLDEST = (3, 1)
# In older versions the solver of an island stops by another criterion than the solver of all constraints. Walker2d's
# results then differed in one step of 4,000.
ONE_ISLAND = (3, 17)
DATA_BYTES = 500_000  # about the size of an mjData as the bindings make it, or a little more
INSTALL = 'pip install "batchenv[mujoco]"'

# Functions of the library; _OPTIONAL ones are not in all versions.
_FUNCTIONS = (
    *(
        "mj_step",
        "mj_step1",
        "mj_step2",
        "mj_forward",
        "mj_resetData",
        "mj_rnePostConstraint",
        "mj_contactForce",
        "mj_getState",
        "mj_setState",
        "mju_error",
    ),
)
_HANDLERS = ("_mjPRIVATE__set_tls_error_fn", "_mjPRIVATE_setTlsLogHandler")  # up to MuJoCo 3; from 4 on
_OPTIONAL = (
    *_HANDLERS,
    "_mjPRIVATE__set_tls_warning_fn",
    "mj_updateSleep",  # from 3.4 on, where bodies may sleep
    "mjcb_time",  # a variable
    *_core.MUJOCO_STAGES,
    *_core.PHYSICS_FUNCTIONS,
    *_core.MUJOCO_CALLBACKS,
)
FORCES = ("cacc", "cfrc_int", "cfrc_ext")  # what only mj_rnePostConstraint computes


@functools.cache
def load() -> tuple[Any, dict[str, int]]:
    """The `mujoco` module, and {name: address} of its library's functions and of the variable `mjcb_time` (0 if the
    library has no such name).

    Raises:
        gymnasium.error.DependencyNotInstalled: mujoco is missing, broken, or of a version not supported.
    """
    try:
        # By its name: a checker takes the package of this folder for it where MuJoCo is not installed.
        mujoco: Any = importlib.import_module("mujoco")
    except Exception as error:  # a broken GL set-up raises other errors than ImportError
        raise DependencyNotInstalled(_why_not(error)) from error
    if version_of(mujoco) < OLDEST:
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

    functions = {name: address(name) for name in (*_FUNCTIONS, *_OPTIONAL)}
    missing = [name for name in _FUNCTIONS if not functions[name]]
    if not any(functions[name] for name in _HANDLERS):
        missing.append(_HANDLERS[1])  # without it, errors of MuJoCo would end the process
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
    """MuJoCo's compiler starts threads; if it cannot start one, it raises an error that does not give the reason."""
    return RuntimeError(
        f"{what}: MuJoCo could not compile this model: {error}. If it can at other times, it lacked memory, or could "
        "not start a thread: raise the limit (ulimit -u, ulimit -v, a container's), or use fewer threads elsewhere"
    )


def read_model(path: str | Path, argument: str = "xml_file") -> Any:
    """The mjModel of an XML file. argument: what the user has named the file with.

    Raises:
        OSError: there is no such file.
        ValueError: it is not a model.
    """
    mujoco, _ = load()
    if "\0" in str(path) or not Path(path).exists():
        raise FileNotFoundError(f"{argument}: there is no file {str(path)!r}: name the XML file of a model")
    if Path(path).is_dir():
        raise IsADirectoryError(f"{argument}={str(path)!r} is a folder: name a model's file")
    try:
        return mujoco.MjModel.from_xml_path(str(path))
    except (ValueError, TypeError) as error:  # TypeError: a path that is no UTF-8
        raise _xml_error(f"{argument}={str(path)!r}", error) from None
    except RuntimeError as error:
        raise _compiler_error(f"{argument}={str(path)!r}", error) from error


def parse_model(text: str) -> Any:
    """The mjModel of XML text. Raises ValueError if it is not a model."""
    mujoco, _ = load()
    try:
        text.encode()
        return mujoco.MjModel.from_xml_string(text)
    except ValueError as error:  # UnicodeEncodeError is one
        raise _xml_error("xml", error) from None
    except RuntimeError as error:
        raise _compiler_error("xml", error) from error


def frozen(xml: Any) -> Any:
    """A mjModel as it is now, if `xml` is a mjModel or a MjSpec; `xml` itself if not.

    Raises:
        ValueError: the MjSpec is not a model.
    """
    if type(xml).__module__.partition(".")[0] != "mujoco":  # so that mujoco need not be there for the message
        return xml
    mujoco, _ = load()
    if isinstance(xml, getattr(mujoco, "MjSpec", ())):
        try:
            return xml.compile()
        except ValueError as error:
            raise _xml_error("xml", error) from None
        except RuntimeError as error:
            raise _compiler_error("xml", error) from error
    return copy.copy(xml) if isinstance(xml, mujoco.MjModel) else xml


def fingerprint(model: Any) -> int:
    """A number that differs between models and between versions of MuJoCo."""
    mujoco, _ = load()
    digest = hashlib.blake2b(mujoco.__version__.encode(), digest_size=8)
    for part in (model, model.opt):
        for name in sorted(dir(part)):
            # A copy that was pickled has no `signature`, which says what it was compiled from.
            value = None if name.startswith("_") or name == "signature" else getattr(part, name, None)
            if isinstance(value, (int, float, np.ndarray)):
                digest.update(name.encode())
                digest.update(np.ascontiguousarray(value).tobytes())
    return int.from_bytes(digest.digest(), "little", signed=True)


def idle_flags(model: Any) -> int:
    """Which stages of MuJoCo's step have nothing to do for this model, wherever its bodies are: bits of
    `opt.disableflags`.

    - Contacts are searched for even if no two geoms can touch: this takes a fifth of a pendulum's step.
    - Constraints are sorted into independent islands, which are solved one by one. If everything that moves belongs to
      one tree of joints, there is only one island, and the results are the same without the sorting, which takes 2% to
      8% of a step (from version ONE_ISLAND on).
    """
    mujoco, _ = load()
    flags = mujoco.mjtDisableBit
    if model.opt.enableflags or getattr(model, "nflex", 0):  # sleeping needs islands
        return 0
    bits = 0 if _may_touch(model) else int(flags.mjDSBL_CONTACT)
    if getattr(model, "ntree", 0) == 1 and version_of(mujoco) >= ONE_ISLAND:
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


class Own:
    """A model that lanes have instead of the compiler's.

    Attributes:
        still: the same model with its actuators disabled, where `Lanes.fresh`.
        model: it. floats: what `MujocoSource.put_model` needs to step lanes with it together; None: not known yet, or
            they are stepped alone, and `why`.
    """

    def __init__(self, model: Any):
        self.model = model
        self.floats: NDArray[np.float64] | None = None
        self.still: Any = None
        self.why: list[str] = []


class Start(NamedTuple):
    """Where episodes of a task in C start, and `numbers`, float64, that its Python has found out there."""

    qpos: NDArray[np.float64]
    qvel: NDArray[np.float64]
    time: float = 0.0
    numbers: NDArray[np.float64] = np.zeros(0)


class Lanes:
    """`count` lanes of a model. `source` holds all that the C core needs to know about them.

    A lane is a row of numbers: MuJoCo's integration state and the arrays that the task reads. There are only a few
    mjData, which are lent to lanes for a step. Lanes share the model until `source.put_model` gives one its own.

    Args:
        threads: how many threads may step lanes at the same time.
        reads: what the task reads in addition to qpos, qvel and ctrl.
        observed: further fields of mjData, in the order in which they are observed.
        unlimited: actuators without limits of their own take any action.
        together: whether several lanes may be stepped at a time: see physics.py.
        fresh: after a step, the task reads what MuJoCo computes from where the step has ended, and episodes start
            without actuators, as in DM Control.
        acting: fields of the batch's state that are a part of the lanes' models.
        start: where episodes start; None: where the model does.
        presses: the task asks how firmly geoms press on each other.

    Attributes:
        alone: why no lanes are stepped together; [] if they are.
        inputs: what users may set of lanes, as inputs.py has it: views of `records`.
    """

    def __init__(
        self,
        model: Any,
        count: int,
        threads: int,
        reads: Sequence[Read] = (),
        observed: list[str] | None = None,
        unlimited: bool = False,
        together: bool = True,
        fresh: bool = False,
        acting: Sequence[Acting] = (),
        start: Start | None = None,
        presses: bool = False,
    ):
        self._given = (model, reads, observed, unlimited)
        self.fresh = fresh
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
        start = start or Start(first.qpos.copy(), first.qvel.copy())
        self.init_qpos, self.init_qvel = start.qpos, start.qvel
        bounds = [np.array(bound) for bound in model.actuator_ctrlrange.T]  # C-contiguous copies
        if unlimited:
            free = ~np.asarray(model.actuator_ctrllimited, np.bool_)
            bounds[0][free], bounds[1][free] = -np.inf, np.inf
        # mjData of lanes that sleep or have plugins hold more than rows have room for: each lane has its own.
        trees = int(model.ntree) if kept_arrays.sleeps(mujoco, model) else 0
        self._sleeps = trees > 0
        kept = kept_arrays.sizes(mujoco, model, first)
        self._row_size = self.state_size + sum((size + 7) // 8 for size in kept) + (trees + 1) // 2  # doubles
        slots = count if trees or getattr(model, "nplugin", 0) else min(count, threads + 1)
        rows = count * self._row_size * 32  # two states, and the two of the next step
        memory.check(
            f"{count} lanes of MuJoCo", slots * DATA_BYTES + rows, (slots - 1) * (first.nbuffer + first.narena) + rows
        )
        self.slots = [first, *(mujoco.MjData(model) for _ in range(slots - 1))]

        names = dict.fromkeys([*_core.MUJOCO_FIELDS, *(read.array for read in reads)])
        model_fields = [name for name in names if name.startswith(OF_MODEL)]
        fields = [*(name for name in names if name not in model_fields), *(observed or [])]
        arrays = [*fields, *model_fields]
        self.fields = fields
        self.sizes = sizes = [getattr(first, name).size for name in fields]
        self.isa = _core.chosen_isa()
        self.plan: steps.Plan | None = None  # with `together`
        self.trial: steps.SelfCheck | None = None  # checks lanes' own models
        starts = 2 * self._row_size + np.cumsum([0, *sizes])
        self._places: dict[str, slice] = {}
        for name, begin, end in zip(fields, starts[:-1].tolist(), starts[1:].tolist(), strict=False):
            self._places.setdefault(name, slice(begin, end))  # a field that is also observed comes twice
        self.records = np.zeros((count, starts[-1]))
        self.changed: dict[int, set[str]] = {}  # {lane: names of fields that differ in its `own`}
        self.kept: OrderedDict[Any, Own] = OrderedDict()  # {what makes it: the last models}, for those that come again
        self.inputs = inputs.views(mujoco, model, self.records)
        begin, end = inputs.span(mujoco, model)
        dot, einsum, matmul, matvec, vecmat = fused()
        numbers = {"fingerprint": number, "state_signature": self.signature, "state_size": self.state_size}
        numbers |= {"input_at": begin, "num_input": end - begin}
        numbers |= {"row_size": self._row_size, "num_trees": trees}
        numbers |= {"fused_dot": dot, "fused_einsum": einsum, "fused_matmul": matmul}
        numbers |= {"fused_matvec": matvec, "fused_vecmat": vecmat}
        numbers |= {"forces": int(any(name in FORCES for name in fields))}
        numbers |= {"fresh": int(fresh), "contacts_at": contacts_at() if fresh or presses else -1}
        contacts = contact_at() if presses else (-1, 0, 0)
        numbers |= dict(zip(("contact_at", "contact_bytes", "contact_geoms"), contacts, strict=True))
        numbers |= {"forward_warms": int(forward_warms())}
        self.source = _core.MujocoSource(
            self.records,
            model,
            self.slots,
            fields=fields,
            starts=starts[:-1],
            sizes=sizes,
            model_fields=[name.removeprefix(OF_MODEL) for name in model_fields],
            reads=[(arrays.index(read.array), read.size, read.first) for read in reads],
            functions=functions,
            numbers=numbers,
            starting=start,
            bounds=bounds,
            kept_bytes=kept,
            unstable=[int(getattr(mujoco.mjtWarning, f"mjWARN_{name}")) for name in _core.MUJOCO_UNSTABLE],
            still=self._still(model),
        )
        self.own: dict[int, Own] = {}  # {lane: the model of its own that it has}
        self.drawn: _core.MujocoDraws | None = None  # where episodes' models are drawn
        self.drawn_names: set[str] = set()
        self.acting = acting
        if acting:
            models = [(copy.copy(model), self._still(model), self._mute(model)) for _ in self.slots]
            self.source.put_acting([row.row(model) for row in acting], models)
        self.alone = steps.start(self, mujoco, functions, number) if together else ["not wanted"]

    def __len__(self) -> int:
        return len(self.records)

    def like(self, count: int) -> Lanes:
        """Other lanes, of the same kind, that are not stepped together."""
        model, reads, observed, unlimited = self._given
        return Lanes(model, count, 1, reads, observed, unlimited, together=False, fresh=self.fresh)

    def put_models(self, models: dict[int, Own]) -> None:
        """Gives lanes models of their own. Those that cannot be stepped with others, or fail a check, are stepped
        alone."""
        mujoco, functions = load()
        fresh = [own for own in {id(own): own for own in models.values()}.values() if own.floats is None]
        known = [steps.floats_of(self, mujoco, own.model) for own in fresh]
        fit = [(own, floats) for own, (floats, _) in zip(fresh, known, strict=True) if floats is not None]
        models_of, floats_of = [own.model for own, _ in fit], [floats for _, floats in fit]
        found = steps.check_models(self, mujoco, functions, models_of, floats_of)
        for own, (_, why) in zip(fresh, known, strict=True):
            own.why = why
        for (own, floats), what in zip(fit, found, strict=True):
            own.floats, own.why = (None, [what]) if what else (floats, [])
        for lane, own in models.items():
            self.own[lane] = own
            if self.fresh and own.still is None:
                own.still = self._still(own.model)
            self.source.put_model(lane, own.model, own.floats, own.still)

    def _still(self, model: Any) -> Any:
        """With `fresh`: a copy of a model with its actuators disabled."""
        if not self.fresh:
            return None
        still = copy.copy(model)
        still.opt.disableflags |= int(load()[0].mjtDisableBit.mjDSBL_ACTUATION)
        return still

    def _mute(self, model: Any) -> Any:
        """With `fresh`: a copy of a model with its sensors disabled, if a step's sensors can be left out where nobody
        reads them."""
        mujoco, _ = load()
        histories = getattr(model, "nhistory", 0) or getattr(model, "nplugin", 0)
        whole = model.opt.integrator != int(mujoco.mjtIntegrator.mjINT_RK4)
        if not (self.fresh and model.nsensor and whole) or histories:
            return None
        mute = copy.copy(model)
        mute.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
        return mute

    def physics(self, lane: int) -> str:
        """How the lane is stepped, and why."""
        own = self.own.get(lane) or (self.drawn.of(lane) if self.drawn is not None else None)
        return shares.told(load()[0], self, lane, self.alone if own is None else own.why)

    def changed_in(self, lane: int) -> set[str]:
        """Names of the fields in which the lane's model is not the compiler's."""
        drawn = self.drawn is not None and self.drawn.of(lane) is not None
        return self.changed.get(lane, set()) | (self.drawn_names if drawn else set())

    def name_of(self, index: int) -> str:
        """What the number `index` of a lane's record belongs to."""
        if index < 2 * self._row_size:
            return "the state"
        ends = 2 * self._row_size + np.cumsum(self.sizes)
        return self.fields[int(np.searchsorted(ends, index, "right"))]

    def view(self, name: str) -> NDArray[np.float64]:
        """The lanes' array of one of `fields`: a view, float64 (lanes, *shape in mjData)."""
        return self.records[:, self._places[name]].reshape(len(self), *getattr(self.slots[0], name).shape)

    def field(self, name: str) -> NDArray[np.float64]:
        """A copy of the lanes' qpos, qvel or ctrl: float64 (lanes, size)."""
        return self.records[:, self._places[name]].copy()

    def put_input(self, name: str, lanes: NDArray[np.int64], rows: NDArray[np.float64]) -> None:
        """Sets one of `inputs` of lanes, and what they show of it. rows: one per lane."""
        self.inputs[name][lanes] = rows + 0.0  # not -0, which MuJoCo would add in another way than 0
        if name in self.fields:
            self.records[lanes, self._places[name]] = self.inputs[name][lanes].reshape(len(lanes), -1)

    def data(self, lane: int, stepped: bool, target: Any = None, model: Any = None) -> Any:
        """An mjData with the lane's state and results (see be_mujoco_remake): a new one, or `target` if it can be used.

        stepped: whether there was a step since the lane's last reset.
        model: the lane's, or what of it is shown.
        """
        mujoco, _ = load()
        model = self.source.model(lane) if model is None else model
        if self._sleeps:  # the lane has an mjData of its own
            target = copy.copy(self.slots[lane])
            for name, values in self.inputs.items():
                getattr(target, name)[:] = values[lane]
            if stepped:
                mujoco.mj_rnePostConstraint(model, target)
            return target
        if target is None:
            target = mujoco.MjData(model)
        self.source.remake(lane, target, stepped, model)
        return target


_BALLS = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
<body><freejoint/>{}</body><body pos="0 0 5"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""


@functools.cache
def contacts_at() -> int:
    """At which byte mjData counts its contacts; -1 if that cannot be told. The bindings only show the number. So it is
    looked for in models with different numbers of contacts, between what the bindings do show the addresses of."""
    mujoco, _ = load()
    places: set[int] | None = None
    for count in (0, 1, 2, 3, 5, 7):
        geoms = "".join(f'<geom pos="{k} 0 0.05" size=".1"/>' for k in range(count)) or '<geom pos="0 0 3" size=".1"/>'
        model = mujoco.MjModel.from_xml_string(_BALLS.format(geoms))
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        begin, end = data.warning.number.ctypes.data - data._address, data.energy.ctypes.data - data._address
        words = np.ctypeslib.as_array((ctypes.c_int32 * ((end - begin) // 4)).from_address(data._address + begin))
        found = {begin + 4 * k for k in np.flatnonzero(words == data.ncon).tolist()}
        places = found if places is None else places & found
    return places.pop() if places is not None and len(places) == 1 else -1


@functools.cache
def contact_at() -> tuple[int, int, int]:
    """At which byte mjData has the pointer to its contacts, how many bytes a contact has, and at which of them its two
    geoms are; (-1, 0, 0) if that cannot be told."""
    mujoco, _ = load()
    model = mujoco.MjModel.from_xml_string(_BALLS.format('<geom size=".1"/>'))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    begin, first = data.energy.ctypes.data, data.contact.dist  # the pointers follow arrays that the struct has itself
    words = np.ctypeslib.as_array((ctypes.c_uint64 * 128).from_address(begin + data.energy.nbytes))
    found = np.flatnonzero(words == first.ctypes.data)  # the first contact is where mjData's arena begins, too
    if data.ncon != 1 or not len(found) or contacts_at() < 0:
        return -1, 0, 0
    place = begin + data.energy.nbytes + 8 * int(found[0]) - data._address
    return place, first.strides[0], data.contact.geom.ctypes.data - first.ctypes.data


@functools.cache
def forward_warms() -> bool:
    """Whether mj_forward changes the warm start of the next step, as up to some 3.3 of MuJoCo."""
    mujoco, _ = load()
    model = mujoco.MjModel.from_xml_string(_BALLS.format('<geom size=".1"/>'))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    before = data.qacc_warmstart.copy()
    data.qvel[:] = 1
    mujoco.mj_forward(model, data)
    return bool((data.qacc_warmstart != before).any())


@functools.cache
def fused() -> tuple[int, int, int, int, int]:
    """Whether NumPy's dot of two or three numbers, its einsum, its dot of two matrices of three rows, that of such a
    matrix and a vector, and that of a vector and a matrix use fused multiply-adds: 1 or 0 each.

    Fused multiply-adds round differently, and Gymnasium computes rewards and infos with these functions.
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
    products = [(m, n, m.dot(n)) for m, n in rng.uniform(-1, 1, (64, 2, 3, 3))]
    matmul = all(
        product[i, j] == total(list(zip(m[i].tolist(), n[:, j].tolist(), strict=True)))
        for m, n, product in products
        for i in range(3)
        for j in range(3)
    )
    # the vector's fifth number is what is left of four
    matvec = all(
        m.dot(v)[0] == float(Fraction(m[0, 4]) * Fraction(v[4]) + Fraction((p[0] + p[2]) + (p[1] + p[3])))
        for m, v in zip(rng.uniform(-1, 1, (64, 3, 5)), rng.uniform(-1, 1, (64, 5)), strict=True)
        for p in [m[0] * v]
    )
    vecmat = all(
        v.dot(m)[j] == total(list(zip(v.tolist(), m[:, j].tolist(), strict=True)))
        for v, m in zip(vectors, rng.uniform(-1, 1, (64, 3, 3)), strict=True)
        for j in range(3)
    )
    return int(dot), int(einsum), int(matmul), int(matvec), int(vecmat)
