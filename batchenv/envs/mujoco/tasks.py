"""Gymnasium's MuJoCo environments: translates their keywords and lane attributes for the C core."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import logger
from numpy.typing import NDArray

from batchenv import _core
from batchenv._core import type_info
from batchenv.arguments.numbers import integer
from batchenv.backend.translator import Translator
from batchenv.envs.mujoco import drawing, inputs, library, places, reads, shares
from batchenv.envs.mujoco import fields as model_fields
from batchenv.envs.mujoco.acting import Acting
from batchenv.envs.mujoco.drawn import DrawnModels, one_at_a_time
from batchenv.envs.mujoco.places import Row
from batchenv.envs.mujoco.shown import Shown

# Fields of a lane's model, {name: value}: as they were when MuJoCo last computed others from them, and those set since.
Changes = tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.float64]]]

# Means "no bound" in tables that may hold finite numbers only.
ANY = float(np.finfo(np.float64).max)

_RENDERING = (
    ("width", 480, "of pictures, pixels"),
    ("height", 480, "of pictures, pixels"),
    ("camera_id", None, "which of the model's cameras takes pictures"),
    ("camera_name", None, "the same by name"),
    ("default_camera_config", None, "settings of the free camera: a dict, such as {'distance': 4.0}"),
    ("max_geom", 1000, "most objects in a picture"),
    ("visual_options", None, "flags of the pictures: a dict, mjtVisFlag to bool"),
)
_SIZE = 16384
_WALKER_CAMERA = {"trackbodyid": 2, "distance": 4.0, "lookat": np.array((0.0, 0.0, 1.15)), "elevation": -20.0}
_OWN_XML = "the model: the path of an XML file, or XML text"
_HUMANOID_CAMERA = {"trackbodyid": 1, "distance": 4.0, "lookat": np.array((0.0, 0.0, 2.0)), "elevation": -20.0}


def assets() -> Path:
    """The folder of Gymnasium's own models."""
    return Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"


def model_path(name: Any) -> Path:
    """The file that `xml_file=name` means in Gymnasium: one of Gymnasium's own, unless the name starts with ~, . or
    /."""
    if not isinstance(name, (str, Path)):
        raise TypeError(f"xml_file={name!r} must be a str or Path, not {type(name).__name__}")
    if isinstance(name, Path) or name.startswith((".", "/", "~")):
        return Path(name).expanduser()
    return assets() / name


def _range(name: str, value: Any) -> list[float]:
    """Two bounds as finite numbers."""
    if not isinstance(value, (tuple, list, np.ndarray)) or len(value) != 2:
        raise ValueError(f"{name}={value!r} must be two numbers: (low, high)")
    bounds = [float(bound) for bound in value]
    if any(np.isnan(bound) for bound in bounds):
        raise ValueError(f"{name}={value!r} must be two numbers, none of them NaN")
    return [min(max(bound, -ANY), ANY) for bound in bounds]


class Task(Translator):
    """What a MuJoCo environment has in addition to the params of its C type; see Translator.

    ranges: keywords that stand for two params, NAME_min and NAME_max.
    shown: fields of the state that are seen in a lane's model, data and pictures. acting: which of them the physics
        depends on.
    """

    xml_file = ""
    xml_meaning = "the model: a file of Gymnasium's, or a path that starts with ~, . or /"
    camera: dict[str, Any] | None = None
    camera_id: int | None = None  # the camera of the model that takes pictures if the user names none; None: a free one
    follows: int | None = None  # the body that a free camera looks at; None: it stays where it is, as Gymnasium's does
    unlimited = False  # actuators without limits take any action
    fresh = False  # see library.Lanes
    presses = False  # see library.Lanes
    seen_evaluated = False  # pictures show what `see` makes of a lane, and not the last step's results
    ranges: Sequence[str] = ()
    shown: Sequence[Row] = ()
    acting: Sequence[str] = ()
    own: Sequence[tuple[str, Any, str]] = ()
    names = ("data", "model", "qpos", "qvel", "time", "dt", "init_qpos", "init_qvel", "physics")
    fields = model_fields.MODEL_FIELDS
    lanes: library.Lanes
    _observed: list[str] | None = None

    def __init__(self) -> None:
        self._changes: dict[int, Changes] = {}

    def _drawn_keywords(self) -> Sequence[tuple[str, Any, str]]:
        info = type_info(self.type_name)
        if not info["drawn"]:
            return ()
        return (
            ("model_pool", info["model_pool"], "models drawn, of which each episode has one; 0: each has its own"),
            ("model_pool_seed", 0, "of the models in the pool"),
        )

    # They are only read, and of a translator, so that a property may be in place of the base's class variable.
    @property
    def KEYWORDS(self) -> Sequence[tuple[str, Any, str]]:  # pyright: ignore[reportIncompatibleVariableOverride]
        xml = ("xml_file", self.xml_file, self.xml_meaning)
        ranges = [(f"{name}_range", None, f"(low, high): {name}_min and {name}_max") for name in self.ranges]
        return (xml, *self.own, *ranges, *self._drawn_keywords(), *_RENDERING)

    def to_core(self, keywords: dict[str, Any]) -> tuple[dict[str, Any], NDArray[np.uint8] | None]:
        """Translates the user's keywords into the C type's params.

        Raises:
            TypeError, ValueError, OSError: a wrong keyword or value.
            gymnasium.error.DependencyNotInstalled: mujoco is not installed.
        """
        library.load()
        params = dict(keywords)
        self._at_start = {name: params.pop(name) for name in self.fields if name in params}
        self._given = {name: params.pop(name) for name, _, _ in self.KEYWORDS if name in params}
        for name in self.ranges:
            if f"{name}_range" not in self._given:
                continue
            clash = [bound for bound in (f"{name}_min", f"{name}_max") if bound in params]
            if clash:
                raise TypeError(f"{name}_range says what {clash[0]} says: give one of them")
            bounds = _range(f"{name}_range", self._given.pop(f"{name}_range"))
            params.update(zip((f"{name}_min", f"{name}_max"), bounds, strict=True))
        for name, _, _ in self._drawn_keywords():
            integer(name, self._value(name), 0, None)
        for name in ("width", "height", "max_geom"):
            integer(name, self._value(name), 1, _SIZE * 64)
        self._model = self._read(self._value("xml_file"))
        drawing.check_camera(self._dict("default_camera_config"), self._model)
        drawing.check_flags(self._dict("visual_options"))
        return params, None

    def _dict(self, name: str) -> dict[Any, Any]:
        value = self._value(name)
        if value is not None and not isinstance(value, dict):
            raise TypeError(f"{name}={value!r} must be a dict or None, not {type(value).__name__}")
        return value or {}

    def _read(self, xml: Any) -> Any:
        return library.read_model(model_path(xml))

    def _value(self, name: str) -> Any:
        defaults = {keyword: default for keyword, default, _ in self.KEYWORDS}
        return self._given.get(name, defaults[name])

    def _flag(self, name: str) -> bool:
        value = self._value(name)
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{name}={value!r} must be a bool, not {type(value).__name__}")
        return bool(value)

    def engine(self, num_envs: int, threads: int) -> library.Lanes:
        """The object that the C core gets for `num_envs` lanes of the model, stepped by `threads` threads."""
        self.lanes = self._make_lanes(num_envs, threads)
        info = type_info(self.type_name)
        if info["drawn"]:
            pool, seed = self._value("model_pool"), self._value("model_pool_seed")
            DrawnModels(self.lanes, info["drawn"], pool, seed)
            for name in self._at_start.keys() & self.lanes.drawn_names:
                raise ValueError(
                    f"{name} is drawn for each episode, around the numbers of the model: give xml_file a model with "
                    "others, or set it for the present episodes with env.set_params"
                )
        if self._at_start:
            self.set_fields(np.arange(num_envs), self._at_start)
        return self.lanes

    def _make_lanes(self, num_envs: int, threads: int) -> library.Lanes:
        keywords = {name: self._value(name) for name, _, _ in self.own}
        rows = type_info(self.type_name)["reads"] or []
        found = reads.resolve(library.load()[0], self._model, rows, keywords)
        return library.Lanes(
            self._model,
            num_envs,
            threads,
            found,
            self._observed,
            self.unlimited,
            fresh=self.fresh,
            acting=self._acting(),
            start=self._start(),
            presses=self.presses,
        )

    def _start(self) -> library.Start | None:
        """Where episodes start; None: where the model does."""
        return None

    def _acting(self) -> list[Acting]:
        state = [row["name"] for row in type_info(self.type_name)["state"]]
        rows = [row for row in self.shown if row[0] in self.acting]
        found = places.find(library.load()[0], self._model, rows)
        if len(found) < len(rows):
            names = {f"{kind} {name!r}" for _, _, kind, name, _ in rows}
            raise ValueError(
                f"xml_file: the task draws anew, for each episode, what the model must have: {sorted(names)}"
            )
        return [Acting(state.index(place.field), place) for place in found]

    def release(self) -> None:
        """Drops the reference to the lanes, which the batch keeps until its workers have ended."""
        lanes = self.__dict__.pop("lanes", None)
        theirs = "xml_file" in self._given or self._changes  # nobody can change the model of a ready task
        told = shares.warning(library.load()[0], lanes) if lanes is not None and theirs else ""
        if told:
            logger.warn("%s", told)

    def field_shape(self, name: str) -> tuple[int, ...]:
        """The shape of a field of `fields`."""
        return model_fields.read(self.lanes.model, name).shape

    def set_fields(self, lanes: NDArray[np.int64], values: dict[str, Any]) -> None:
        """Gives lanes models of their own; see `fields.set_fields`."""
        model_fields.set_fields(self.lanes, lanes, values)
        names = set(values)
        if self.lanes.drawn is not None and not names.isdisjoint(self.lanes.drawn_names):
            # What was drawn for such lanes does not say any more what their models are.
            names |= self.lanes.drawn_names
            self.lanes.drawn.rows[lanes, 0] = _core.MUJOCO_DRAWN_CHANGED
        computed = not names.isdisjoint(model_fields.CONSTANTS)
        for lane in lanes.tolist():
            before, since = self._changes.setdefault(lane, ({}, {}))
            model = self.lanes.source.model(lane)
            since.update({name: model_fields.read(model, name) for name in names})
            if computed:
                before.update(since)
                since.clear()

    def check_entries(self, values: dict[str, NDArray[Any]], count: int) -> None:
        drawn = self.lanes.drawn_names if self.lanes.drawn is not None else set()
        for name, rows in values.items():
            if name in drawn:
                raise ValueError(f"{name} is drawn for each episode, so entries of a plan cannot set it")
            shape = self.field_shape(name)
            if rows.shape != (count, *shape):
                raise ValueError(
                    f"params[{name!r}] has shape {rows.shape}, but must have one row of the model's shape per entry: "
                    f"{(count, *shape)}"
                )
            for k, row in enumerate(rows):
                try:
                    model_fields.check(self.lanes, np.zeros(1, np.int64), name, row)
                except ValueError as problem:
                    raise ValueError(f"{problem} (entry {k} of the plan, in any lane)") from None

    def preparer(self, values: dict[str, NDArray[Any]]) -> Callable[[int, int], None]:
        def prepare(lane: int, entry: int) -> None:
            try:
                with one_at_a_time():
                    self.set_fields(np.array([lane]), {name: rows[entry] for name, rows in values.items()})
            except BaseException as problem:
                self.lanes.source.raised[lane] = problem
                raise

        return prepare

    def changes(self) -> dict[int, Changes]:
        """What `set_fields` has set: {lane: Changes}."""
        return self._changes

    def take_changes(self, changes: dict[int, Changes]) -> None:
        """Makes the changes that another environment's `changes` returned."""
        for part in range(2):
            alike: dict[tuple[str, ...], list[int]] = {}
            for lane, fields in changes.items():
                alike.setdefault(tuple(sorted(fields[part])), []).append(lane)
            for names, lanes in alike.items():
                rows = {name: np.zeros((len(self.lanes), *self.field_shape(name))) for name in names}
                for name in names:
                    rows[name][lanes] = [changes[lane][part][name] for lane in lanes]
                if names:
                    self.set_fields(np.array(lanes), rows)

    def inputs(self) -> dict[str, NDArray[np.float64]]:
        return self.lanes.inputs

    def put_inputs(self, lanes: NDArray[np.int64], values: dict[str, NDArray[Any]]) -> None:
        for name, rows in values.items():
            inputs.check(name, rows, lanes)
        for name, rows in values.items():
            self.lanes.put_input(name, lanes, rows)

    def render_modes(self, env_id: str) -> list[str]:
        return ["human", "rgb_array", "depth_array", "rgbd_tuple"]

    def drawer(self, env_id: str, mode: str, action_shape: tuple[int, ...], batch: Any) -> Any:
        from batchenv.envs.mujoco.render import MuJoCoDrawer

        settings = {name: self._value(name) for name, _, _ in _RENDERING}
        if settings["default_camera_config"] is None:
            settings["default_camera_config"] = self.camera
        follows = self.follows
        if settings["camera_id"] is None and settings["camera_name"] is None:
            settings["camera_id"] = self.camera_id
        else:
            follows = None
        return MuJoCoDrawer(
            self.lanes,
            mode,
            settings,
            batch,
            Shown(self.lanes, batch, self.shown, self.seen_evaluated),
            follows,
            (lambda *seen: self.see(*seen, params=batch.get_params())) if self.seen_evaluated else None,
        )

    def see(self, model: Any, data: Any, state: dict[str, Any], params: dict[str, Any]) -> None:
        """Makes a model of a lane and its data what pictures show, as if the reference's env had called mj_forward.
        state: the lane's. params: the batch's parameters."""
        library.load()[0].mj_forward(model, data)

    def keywords(self) -> dict[str, Any]:
        """Values of KEYWORDS that make the same environment again. To be called after `to_core`."""
        return dict(self._given)

    def attribute(self, name: str, batch: Any) -> list[Any]:
        """Copies of a lane attribute, one per lane, as Gymnasium's environment would give it."""
        lanes = self.lanes
        if name == "data":
            shown = Shown(lanes, batch, self.shown).models() if self.shown else [None] * len(lanes)
            steps = batch.elapsed()
            return [lanes.data(lane, steps[lane] > 0, model=model) for lane, model in enumerate(shown)]
        if name == "physics":
            return [lanes.physics(lane) for lane in range(len(lanes))]
        if name == "model":
            return Shown(lanes, batch, self.shown).models()
        if name == "dt":
            return [lanes.model.opt.timestep * batch.get_params()["frame_skip"]] * len(lanes)
        if name in ("init_qpos", "init_qvel"):
            return [getattr(lanes, name).copy() for _ in range(len(lanes))]
        if name == "time":
            return lanes.records[:, 0].tolist()  # the first number of MuJoCo's states
        return list(lanes.field(name))


class HalfCheetah(Task):
    """HalfCheetah-v5 and -v4."""

    xml_file = "half_cheetah.xml"
    camera = {"distance": 4.0}


class Swimmer(Task):
    """Swimmer-v5 and -v4."""

    xml_file = "swimmer.xml"


class Walker2d(Task):
    """Walker2d-v5."""

    xml_file = "walker2d_v5.xml"
    ranges = ("healthy_z", "healthy_angle")
    camera = _WALKER_CAMERA


class Walker2dV4(Walker2d):
    """Walker2d-v4."""

    xml_file = "walker2d.xml"


class Hopper(Walker2d):
    """Hopper-v5 and -v4."""

    xml_file = "hopper.xml"
    ranges = ("healthy_state", "healthy_z", "healthy_angle")
    camera = {**_WALKER_CAMERA, "distance": 3.0}


class Ant(Task):
    """Ant-v5."""

    xml_file = "ant.xml"
    ranges = ("healthy_z", "contact_force")
    camera = {"distance": 4.0}
    own = (("main_body", 1, "name or number of the body whose speed is rewarded"),)


class AntV4(Ant):
    """Ant-v4."""

    own = (("use_contact_forces", False, "observe contact forces, and charge for them"),)

    def to_core(self, keywords):
        result = super().to_core(keywords)
        if self._flag("use_contact_forces"):
            self.type_name = "AntV4Contact"  # its infos have another dtype
        return result


class Humanoid(Task):
    """Humanoid-v5."""

    xml_file = "humanoid.xml"
    ranges = ("healthy_z", "contact_cost")
    camera = _HUMANOID_CAMERA


class HumanoidV4(Humanoid):
    """Humanoid-v4."""

    ranges = ("healthy_z",)


class HumanoidStandup(Humanoid):
    """HumanoidStandup-v5."""

    xml_file = "humanoidstandup.xml"
    ranges = ("impact_cost",)
    camera = {**_HUMANOID_CAMERA, "lookat": np.array((0.0, 0.0, 0.8925))}


class HumanoidStandupV4(HumanoidStandup):
    """HumanoidStandup-v4."""

    ranges = ()


class InvertedPendulum(Task):
    """InvertedPendulum-v5 and -v4."""

    xml_file = "inverted_pendulum.xml"
    camera = {"trackbodyid": 0, "distance": 2.04}


class InvertedDoublePendulum(Task):
    """InvertedDoublePendulum-v5 and -v4."""

    xml_file = "inverted_double_pendulum.xml"
    camera = {"trackbodyid": 0, "distance": 4.1225, "lookat": np.array((0.0, 0.0, 0.12250000000000005))}


class Reacher(Task):
    """Reacher-v5 and -v4."""

    xml_file = "reacher.xml"
    camera = {"trackbodyid": 0}


class Pusher(Task):
    """Pusher-v5."""

    xml_file = "pusher_v5.xml"
    camera = {"trackbodyid": -1, "distance": 4.0}


class PusherV4(Pusher):
    """Pusher-v4, which Gymnasium itself makes with MuJoCo 2 only."""

    xml_file = "pusher.xml"


class OwnTask(Task):
    """A task of a user's own, in a C file that includes mujoco_task.h."""

    xml_meaning = _OWN_XML

    def _read(self, xml):
        if not xml:
            raise TypeError(f"{self.type_name} needs a model: xml_file='robot.xml'")
        return read_own(xml, "xml_file")


def read_own(xml: Any, keyword: str) -> Any:
    """The model of a file, of XML text, or a copy of a mjModel."""
    if isinstance(xml, library.load()[0].MjModel):
        return copy.copy(xml)
    if not isinstance(xml, (str, os.PathLike)):
        raise TypeError(
            f"{keyword}={xml!r} must be the path of an XML file, XML text, or a mujoco.MjModel, not "
            f"{type(xml).__name__}"
        )
    if isinstance(xml, str) and xml.lstrip().startswith("<"):
        return library.parse_model(xml)
    return library.read_model(Path(xml).expanduser())


class MuJoCo(Task):
    """A user's own model: see `batchenv.make_mujoco`."""

    xml_meaning = _OWN_XML
    own = (("observation", ("qpos", "qvel"), "fields of mjData, in this order"),)
    names = (*Task.names, "observation_fields")
    unlimited = True
    START = (
        "Episodes start at the model's qpos0 (`ref` and positions of bodies in the XML), with velocities of 0; the "
        "keywords qpos_noise and qvel_noise of make_mujoco add noise, and env.restore() puts lanes into states that "
        "env.snapshot() has saved"
    )

    def to_core(self, keywords):
        if "xml_file" not in keywords:
            raise TypeError("MuJoCo-v0 needs a model: batchenv.make_mujoco('robot.xml', num_envs)")
        result = super().to_core(keywords)
        self._observed = model_fields.observable(self._model, self._value("observation"))
        data = library.load()[0].MjData(self._model)
        self._sizes = {name: getattr(data, name).size for name in self._observed}
        return result

    def _read(self, xml):
        return read_own(xml, "xml")

    def attribute(self, name, batch):
        if name != "observation_fields":
            return super().attribute(name, batch)
        slices, start = {}, 0
        for field in self._observed or ():
            size = self._sizes[field]
            slices[field] = slice(start, start + size)
            start += size
        return [slices] * len(self.lanes)
