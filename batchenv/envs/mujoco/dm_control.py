"""The DM Control suite: finds and prepares its models. The tasks themselves are in csrc/engines/mujoco/dm_control."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from batchenv._core import type_info
from batchenv.arguments.numbers import integer
from batchenv.envs.mujoco import dm_models, library, packages, pixels, places, reads, tasks, tendons
from batchenv.envs.mujoco.places import Row

_PIXELS = 84  # the sides of observed pictures
_INSTALL = 'pip install "batchenv[dmc]" (of what dm_control depends on, only mujoco is needed)'


def suite(*parts: str) -> Path:
    """The path of a file of the suite in the installed package, which is not imported: it does not run with every
    version of mujoco.

    Raises:
        gymnasium.error.DependencyNotInstalled: the package, or this file of it, is missing.
    """
    return packages.file_of("dm_control", "suite", *parts, package="dm_control", install=_INSTALL)


class DmControl(tasks.Task):
    """What all domains have in common: the model is the file with the domain's name."""

    fresh = True
    camera_id = 0
    unlimited = True
    xml_file = None
    xml_meaning = "another model with the same names: the path of an XML file, or XML text"
    own = (
        (
            "observation",
            "dict",
            "'dict': a Dict of the parts; 'flat': all of them in a row; 'pixels': a picture, 84 x 84 unless width and "
            "height say otherwise",
        ),
    )

    domain = ""  # the name of the model's file; "": as the C type is called
    _view: pixels.View | None = None  # of observed pictures
    _painter: pixels.Painter | None = None

    def _stem(self) -> str:
        """The name of the type with a Dict of observations."""
        return self.type_name.removesuffix("Flat").removesuffix("Pixels")

    def _domain(self) -> str:
        words = re.findall("[A-Z][a-z]*", self._stem().removeprefix("Dm"))
        return self.domain or "_".join(words).lower()

    def to_core(self, keywords):
        result = super().to_core(keywords)
        kinds, kind = {"dict": "", "flat": "Flat", "pixels": "Pixels"}, self._value("observation")
        if not isinstance(kind, str) or kind not in kinds:
            raise ValueError(f"observation={kind!r} must be 'dict', 'flat' or 'pixels'")
        self.type_name += kinds[kind]
        if kind == "pixels":
            self._view = self._seen()
        return result

    def _value(self, name):
        small = name in ("width", "height") and self._given.get("observation") == "pixels"
        return self._given.get(name, _PIXELS) if small else super()._value(name)

    def _seen(self) -> pixels.View:
        """What observed pictures show."""
        name, number = self._value("camera_name"), self._value("camera_id")
        if name is not None and number is not None:
            raise TypeError("camera_name says what camera_id says: give one of them")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"camera_name={name!r} must be a str, not {type(name).__name__}")
        if name is not None:
            number = _of(self._model, "camera", name, "camera_name")
        if number is None:
            number = min(self.camera_id, self._model.ncam - 1)  # without cameras, a free one
        number = integer("camera_id", number, -1, self._model.ncam - 1, "; -1: the free camera")
        config, flags = self._dict("default_camera_config"), self._dict("visual_options")
        if config and number >= 0:
            raise ValueError("default_camera_config is for the free camera, camera_id=-1, and another one is observed")
        pixels.check_flags(flags)
        sides = [integer(side, self._value(side), 1, pixels.MOST) for side in ("height", "width")]
        return pixels.View(*sides, camera=number, config=config, max_geom=self._value("max_geom"), flags=flags)

    def _make_lanes(self, num_envs, threads):
        lanes = super()._make_lanes(num_envs, threads)
        if self._view is not None:
            found = places.find(library.load()[0], lanes.model, self.shown)
            state = {row["name"]: (k, row["dtype"]) for k, row in enumerate(type_info(self.type_name)["state"])}
            self._painter = pixels.Painter(lanes, self._view, found)
            fields = [(state[place.field][0], np.dtype(state[place.field][1]).char) for place in found]
            lanes.source.put_painter(self._painter, fields, self._view.height, self._view.width)
        return lanes

    def release(self):
        super().release()
        if self._painter is not None:
            self._painter.close()

    def _read(self, xml):
        own = xml is not None
        model = tasks.read_own(xml, "xml_file") if own else self._edited(suite(f"{self._domain()}.xml"))
        self._set(model)
        return model

    def _edited(self, path: Path) -> Any:
        """The model of the domain's file."""
        return library.read_model(path)

    def _set(self, model: Any) -> None:
        """Sets what the task has otherwise than the file, in all of its episodes."""

    def _size(self, keywords: dict[str, Any], name: str) -> int:
        """The value of an integer param of the C type, on which the model depends."""
        (row,) = [row for row in type_info(self.type_name)["params"] if row["name"] == name]
        return integer(name, keywords.get(name, row["default"]), int(row["low"]), int(row["high"]))


def _of(model: Any, kind: str, name: str, keyword: str = "xml_file") -> int:
    """The number of a thing of the model."""
    mujoco, _ = library.load()
    known = reads.names(mujoco, model, kind)
    if name not in known:
        raise ValueError(f"{keyword}: {reads.unknown_thing(kind, name, known)}")
    return known.index(name)


class DmReacher(DmControl):
    """Arms that reach for a target, which each episode puts elsewhere."""

    shown = (
        ("target", "geom_pos", "geom", "target", (0, 1)),
        ("target_radius", "geom_size", "geom", "target", (0,)),
    )


class DmFishUpright(DmControl):
    """dm_control/fish-upright-v0, which has no target."""

    domain = "fish"

    def _set(self, model):
        model.geom_rgba[_of(model, "geom", "target"), 3] = 0


class DmFishSwim(DmControl):
    """dm_control/fish-swim-v0."""

    domain = "fish"
    shown = (("target", "geom_pos", "geom", "target", (0, 1, 2)),)


class DmFingerSpin(DmControl):
    """dm_control/finger-spin-v0, where the body turns more easily, and has no target."""

    domain = "finger"

    def _set(self, model):
        for site in ("target", "tip"):
            model.site_rgba[_of(model, "site", site), 3] = 0
        model.dof_damping[model.jnt_dofadr[_of(model, "joint", "hinge")]] = 0.03


class DmFingerTurn(DmControl):
    """Fingers that turn a body until its tip is at a target."""

    domain = "finger"
    shown = (
        ("target", "site_pos", "site", "target", (0, 2)),
        ("target_radius", "site_size", "site", "target", (0,)),
    )


class DmSwimmer(DmControl):
    """Swimmers of any number of links. The file has the first, the head."""

    shown = (
        ("target", "geom_pos", "geom", "target", (0, 1)),
        ("target", "light_pos", "light", "target_light", (0, 1)),
    )

    def to_core(self, keywords):
        self._links = self._size(keywords, "n_links")
        return super().to_core(keywords)

    def _edited(self, path):
        return dm_models.swimmer(path, self._links)


def _check_target(model: Any, name: str) -> None:
    """Refuses models whose body of this name is more than a mark: the task moves it, and MuJoCo does not know."""
    body = _of(model, "body", name)
    geoms = model.geom_bodyid == body
    touches = (model.geom_contype[geoms] != 0).any() or (model.geom_conaffinity[geoms] != 0).any()
    moves = model.body_parentid[body] != 0 or model.body_jntnum[body] > 0 or model.body_mocapid[body] >= 0
    if touches or moves or (model.body_parentid == body).any() or model.body_quat[body, [1, 3]].any():
        raise ValueError(
            f"xml_file: the task moves body {name!r}, which must be no more than a mark: in worldbody, turned about y "
            "at most, without joints and bodies, and with contype=0 and conaffinity=0 for its geoms"
        )


class Arm(DmControl):
    """An arm with a hand, whose task has two kinds of observations."""

    own = (*DmControl.own, ("fully_observable", True, "False: only the arm's angles, speeds and touch are observed"))

    def to_core(self, keywords):
        result = super().to_core(keywords)
        if not self._flag("fully_observable"):
            stem = self._stem()
            self.type_name = self.type_name.replace(stem, f"{stem}Sensors")
        return result


class DmStacker(Arm):
    """Arms that stack up to four boxes, which the file has."""

    shown = (("target", "body_pos", "body", "target", (0, 2)),)

    def to_core(self, keywords):
        self._boxes = self._size(keywords, "n_boxes")
        return super().to_core(keywords)

    def _edited(self, path):
        return dm_models.without(path, [f"box{k}" for k in range(self._boxes, 4)])

    def _set(self, model):
        _check_target(model, "target")


class DmManipulator(Arm):
    """Arms that do something with a thing. The file has all things, their targets, and what they are put into."""

    domain = "manipulator"
    thing = ""  # what is brought

    def _kept(self) -> set[str]:
        """The names of the things and marks that the task has, of all that are in the file."""
        return {self.thing, f"target_{self.thing}"}

    def _edited(self, path):
        things = {"ball", "peg", "target_ball", "target_peg", "cup", "slot"}
        return dm_models.without(path, sorted(things - self._kept()))

    def _set(self, model):
        _check_target(model, f"target_{self.thing}")


def _moved(body: str) -> tuple[Row, ...]:
    """How the field `target` of the state moves a body of this name, and `target_quat` turns it."""
    return ("target", "body_pos", "body", body, (0, 2)), ("target_quat", "body_quat", "body", body, (0, 2))


class DmManipulatorBringBall(DmManipulator):
    """dm_control/manipulator-bring_ball-v0."""

    thing = "ball"
    shown = _moved("target_ball")


class DmManipulatorBringPeg(DmManipulator):
    """dm_control/manipulator-bring_peg-v0."""

    thing = "peg"
    shown = _moved("target_peg")


class Insert(DmManipulator):
    """Arms that put a thing into a receptacle, which is at the target."""

    fields = ()  # slots have the models that lanes are stepped with
    acting = ("target", "target_quat")
    receptacle = ""

    def _kept(self):
        return {*super()._kept(), self.receptacle}

    def _set(self, model):
        super()._set(model)
        _of(model, "body", self.receptacle)


class DmManipulatorInsertBall(Insert):
    """dm_control/manipulator-insert_ball-v0."""

    thing, receptacle = "ball", "cup"
    shown = (*_moved("target_ball"), *_moved("cup"))


class DmManipulatorInsertPeg(Insert):
    """dm_control/manipulator-insert_peg-v0."""

    thing, receptacle = "peg", "slot"
    shown = (*_moved("target_peg"), *_moved("slot"))


class DmPointMassHard(DmControl):
    """dm_control/point_mass-hard-v0."""

    domain = "point_mass"
    fields = ()  # slots have the models that lanes are stepped with
    shown = (("gains", "wrap_prm", "tendon", "t1", (0, 1, 2, 3)),)
    acting = ("gains",)

    def _set(self, model):
        first = [_of(model, "tendon", name) for name in ("t1", "t2")] == [0, 1]
        fixed = tendons.fixed(library.load()[0], model)[:2].all()
        if not first or not fixed or model.tendon_num[:2].tolist() != [2, 2]:
            raise ValueError(
                "xml_file: the task draws how far controls move the mass: the model's first tendons must be t1 and t2, "
                "which are fixed, with two joints each"
            )


class DmHumanoidPureState(DmControl):
    """dm_control/humanoid-run_pure_state-v0."""

    domain = "humanoid"


class DmHumanoidCmu(DmControl):
    """The CMU's humanoid."""

    domain = "humanoid_CMU"


class DmCartpole(DmControl):
    """Carts with one pole or more."""

    def to_core(self, keywords):
        self._poles = self._size(keywords, "num_poles")
        return super().to_core(keywords)

    def _edited(self, path):
        return dm_models.cartpole(path, self._poles) if self._poles > 1 else super()._edited(path)


class _Runner(DmControl):
    """A robot on a floor as large as it gets in an episode with the speed that is wanted."""

    speed: str
    seconds: int  # that an episode takes

    def to_core(self, keywords):
        try:
            self._floor = self.seconds * float(np.max(keywords.get(self.speed, 1)))
        except (TypeError, ValueError):  # what is no number is refused later
            self._floor = 1.0
        return super().to_core(keywords)


class DmQuadruped(_Runner):
    """The quadruped that walks or runs."""

    speed, seconds = "desired_speed", 20

    def _edited(self, path):
        return dm_models.quadruped(path, self._floor)


class DmQuadrupedEscape(DmControl):
    """The quadruped that gets out of a bowl, whose ground differs from episode to episode."""

    domain = "quadruped"
    fields = ()  # slots have the models that lanes are stepped with
    shown = (("terrain", "hfield_data", "hfield", "", range(201 * 201)),)
    acting = ("terrain",)

    def _read(self, xml):
        model = super()._read(xml)
        sizes = [(model.hfield_nrow[k], model.hfield_ncol[k], model.hfield_size[k, 0]) for k in range(model.nhfield)]
        if sizes != [(201, 201, 30)]:
            raise ValueError("xml_file: the model must have one height field, of 201 rows and columns and a size of 30")
        return model

    def _edited(self, path):
        return dm_models.quadruped(path, 40, terrain=True)


class DmQuadrupedFetch(DmControl):
    """The quadruped that fetches a ball."""

    domain = "quadruped"

    def _edited(self, path):
        return dm_models.quadruped(path, ball=True)


class DmDog(_Runner):
    """The dog that stands, or walks, trots or runs."""

    speed, seconds = "move_speed", 15

    def _edited(self, path):
        return dm_models.dog(path, self._floor)


class DmDogFetch(DmControl):
    """The dog that fetches a ball."""

    domain = "dog"

    def _edited(self, path):
        return dm_models.dog(path, 10, ball=True)


class DmLqr(DmControl):
    """Bodies on springs, whose stiffness dm_control draws when it makes an environment."""

    own = (
        *DmControl.own,
        ("model_seed", None, "lane i has the springs that dm_control makes of the seed model_seed + i; None: all of 0"),
    )

    def to_core(self, keywords):
        self._sizes = [self._size(keywords, name) for name in ("n_bodies", "n_actuators")]
        return super().to_core(keywords)

    def _edited(self, path):
        if self._value("model_seed") is not None:
            integer("model_seed", self._value("model_seed"), 0, 2**63 - 1)
        bodies, actuators = self._sizes
        if actuators > bodies:
            raise ValueError(f"n_actuators={actuators} must be {bodies} (n_bodies) or less")
        return dm_models.lqr(path, dm_models.springs(self._value("model_seed") or 0, bodies), actuators)

    def engine(self, num_envs, threads):
        seed = self._value("model_seed")
        if seed is not None and self._value("xml_file") is None:
            rows = [dm_models.springs(seed + lane, self._model.nq) for lane in range(num_envs)]
            self._at_start = {"jnt_stiffness": np.array(rows)[:, :, 0], **self._at_start}
        return super().engine(num_envs, threads)
