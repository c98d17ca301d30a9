"""Pictures of MuJoCo lanes as observations, drawn by MuJoCo's renderer in the threads that step the lanes.

A picture is that of a camera of the model, as dm_control's `physics.render` gives it with the same library of OpenGL.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import importlib
import os
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from batchenv.envs.mujoco import library
from batchenv.envs.mujoco.places import Place
from batchenv.envs.mujoco.render import note_opengl, refuse_fork, upload_heights, warn_of_software

_HINT = (
    "set MUJOCO_GL=egl (with libEGL: apt install libegl1) or MUJOCO_GL=osmesa (with libOSMesa: apt install libosmesa6) "
    "before Python starts; windows' contexts, of glfw, belong to one thread and cannot draw observations"
)


MOST = 16384  # pixels of a side, which all implementations of OpenGL draw
# What is drawn as MuJoCo's last step has left it, which pictures of lanes do not know.
_OF_STEPS = ("CONTACTPOINT", "CONTACTFORCE", "CONTACTSPLIT", "ISLAND", "RANGEFINDER")


def check_flags(flags: dict[Any, Any]) -> None:
    """Raises ValueError for flags of which observed pictures know nothing."""
    mujoco, _ = library.load()
    for name in _OF_STEPS:
        flag = getattr(mujoco.mjtVisFlag, f"mjVIS_{name}", None)
        if flag is not None and any(int(one) == int(flag) and on for one, on in flags.items()):
            raise ValueError(
                f"visual_options: mjVIS_{name} is not drawn in observations, only in env.render(): leave it out"
            )


class View(NamedTuple):
    """What a picture shows. camera: the number of a camera of the model; -1: a free one, with the settings `config`."""

    height: int
    width: int
    camera: int
    config: dict[str, Any]
    max_geom: int
    flags: dict[int, bool]


def _backends() -> list[str]:
    """The libraries to be tried, in this order."""
    asked = os.environ.get("MUJOCO_GL", "").lower()
    return [asked] if asked in ("egl", "osmesa") else [] if asked else ["egl", "osmesa"]


@contextlib.contextmanager
def _kept_egl() -> Iterator[None]:
    """Afterwards this thread has the context back that it had before, or none."""
    from OpenGL import EGL

    before = EGL.eglGetCurrentContext()
    drawn, read = EGL.eglGetCurrentSurface(EGL.EGL_DRAW), EGL.eglGetCurrentSurface(EGL.EGL_READ)
    display = EGL.eglGetCurrentDisplay() if before else None
    try:
        yield
    finally:
        EGL.eglBindAPI(EGL.EGL_OPENGL_API)
        display = display or importlib.import_module("mujoco.egl").EGL_DISPLAY
        if display is not None:  # else there is no OpenGL
            EGL.eglMakeCurrent(display, drawn, read, before or EGL.EGL_NO_CONTEXT)


@contextlib.contextmanager
def _kept_osmesa() -> Iterator[None]:
    """The same."""
    from OpenGL import GL, osmesa

    before = osmesa.OSMesaGetCurrentContext()
    width, height, _, place = osmesa.OSMesaGetColorBuffer(before) if before else (0, 0, 0, None)
    buffer = None
    if place is not None and place.value:
        buffer = np.ctypeslib.as_array((ctypes.c_float * (4 * width * height)).from_address(place.value))
    try:
        yield
    finally:
        osmesa.OSMesaMakeCurrent(before or None, buffer, GL.GL_FLOAT, width, height)


class _Context:
    """An OpenGL context, which is current only while something is drawn in it: then any thread may use it."""

    def __init__(self, backend: str, width: int, height: int):
        module = importlib.import_module(f"mujoco.{backend}")
        note_opengl()
        self._kept = _kept_egl if backend == "egl" else _kept_osmesa
        with self._kept():  # to make one takes the thread's own one away
            self._context = module.GLContext(width, height)

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        with self._kept():
            self._context.make_current()
            yield

    def free(self) -> None:
        with self._kept():
            self._context.free()


class _Canvas:
    """What it takes to draw one picture at a time."""

    def __init__(self, backend: str, model: Any, view: View, places: Sequence[Place]):
        mujoco, _ = library.load()
        self._view, self._places = view, places
        self._like: Any = None  # what `_model` is a copy of
        self._model: Any = None
        self._data = mujoco.MjData(model)
        self._rect = mujoco.MjrRect(0, 0, view.width, view.height)
        self._pixels = np.empty((view.height, view.width, 3), np.uint8)
        self._option = mujoco.MjvOption()
        self._option.flags[mujoco.mjtVisFlag.mjVIS_RANGEFINDER] = False
        for flag, value in view.flags.items():
            self._option.flags[flag] = value
        self._camera = mujoco.MjvCamera()
        if view.camera >= 0:
            self._camera.type, self._camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, view.camera
        else:
            mujoco.mjv_defaultFreeCamera(model, self._camera)
            for name, value in view.config.items():
                setattr(self._camera, name, value)
        sized = copy.copy(model)
        sized.vis.global_.offwidth, sized.vis.global_.offheight = view.width, view.height
        self._heights = [np.array(sized.hfield_data)] * bool(places)
        self._scene = mujoco.MjvScene(model, view.max_geom)
        self._context = _Context(backend, view.width, view.height)
        with self._context.current():
            self._mjr = mujoco.MjrContext(sized, mujoco.mjtFontScale.mjFONTSCALE_150)
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._mjr)

    def _shown(self, model: Any, values: Sequence[Any]) -> Any:
        """The lane's model with the numbers that are its own."""
        if not self._places:
            return model
        if self._like is not model:
            self._like, self._model = model, copy.copy(model)
        for place, numbers in zip(self._places, values, strict=True):
            place.put(self._model, numbers)
        return self._model

    def draw(self, model: Any, state: NDArray[np.float64], signature: int, values: Sequence[Any], picture: Any) -> None:
        mujoco, _ = library.load()
        model, data = self._shown(model, values), self._data
        mujoco.mj_setState(model, data, state, signature)
        for place in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_camlight, mujoco.mj_flex, mujoco.mj_tendon):
            place(model, data)
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(model, data, self._option, None, self._camera, everything, self._scene)
        with self._context.current():
            self._heights = upload_heights(model, self._mjr, self._heights)
            mujoco.mjr_render(self._rect, self._scene, self._mjr)
            mujoco.mjr_readPixels(self._pixels, None, self._rect, self._mjr)
        picture[:] = self._pixels[::-1]  # OpenGL's first row is the lowest one

    def warn(self) -> None:
        with self._context.current():
            warn_of_software()

    def free(self) -> None:
        with self._context.current():
            self._mjr.free()
        self._context.free()


def _free(idle: list[_Canvas], process: int) -> None:
    while idle and os.getpid() == process:
        idle.pop().free()


class Painter:
    """Draws lanes, in as many contexts as threads draw at the same time. places: where in a model the numbers are that
    `__call__` gets.

    Raises:
        gymnasium.error.DependencyNotInstalled: there is no OpenGL that can draw in any thread.
    """

    def __init__(self, lanes: library.Lanes, view: View, places: Sequence[Place]):
        self._lanes = weakref.ref(lanes)  # it has this object
        self._view, self._places = view, places
        self._process = os.getpid()
        self._closed = False
        self._idle: list[_Canvas] = []  # the same list for as long as this object lives
        weakref.finalize(self, _free, self._idle, self._process)  # also at exit, while there still is an OpenGL
        found = [f"MUJOCO_GL={os.environ.get('MUJOCO_GL')!r}"]
        refuse_fork("observation='pixels'")
        for backend in _backends():
            try:
                canvas = _Canvas(backend, lanes.model, view, places)
            except Exception as error:  # GL libraries raise errors of many types
                found.append(f"{backend}: {type(error).__name__}: {error}")
                continue
            self._backend = backend
            self._idle.append(canvas)
            canvas.warn()
            return
        raise DependencyNotInstalled(f"no OpenGL for observation='pixels': {_HINT} ({'; '.join(found)})")

    def __call__(self, lane: int, values: Sequence[NDArray[Any]], picture: NDArray[np.uint8]) -> None:
        """Draws a lane into `picture`. values: an array for each of `places`."""
        refuse_fork("observation='pixels'")
        lanes = self._lanes()
        assert lanes is not None
        try:
            canvas = self._idle.pop()
        except IndexError:
            canvas = _Canvas(self._backend, lanes.model, self._view, self._places)
        try:
            canvas.draw(
                lanes.source.model(lane), lanes.records[lane, : lanes.state_size], lanes.signature, values, picture
            )
        finally:
            self._idle.append(canvas)
            if self._closed:
                self.close()

    def close(self) -> None:
        """Frees the contexts. Threads that still draw free theirs when they have drawn."""
        self._closed = True
        _free(self._idle, self._process)
