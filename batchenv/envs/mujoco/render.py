"""Pictures of MuJoCo lanes, drawn by Gymnasium's MujocoRenderer."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from batchenv.backend.protocol import Drawer
from batchenv.envs.mujoco.library import INSTALL, load

_opened = False  # whether this process has had an OpenGL
_forked = False  # whether it was forked from one that had: OpenGL would hang here


def note_opengl() -> None:
    """To be called where an OpenGL context is made."""
    global _opened
    _opened = True


def refuse_fork(what: str) -> None:
    """Raises RuntimeError in a process that was forked from one that has had an OpenGL. what: cannot be done there."""
    if _forked:
        raise RuntimeError(
            f"{what}: this process was forked from one that had begun to draw, and OpenGL would hang here: start "
            "processes with the method 'spawn', or before anything is drawn"
        )


def _note_fork() -> None:
    global _forked
    egl = sys.modules.get("mujoco.egl")
    # From mujoco 4 on, EGL begins with the first context, whoever makes it, and not where the module is imported.
    begun = egl is not None and hasattr(egl.GLContext, "as_current") and egl.EGL_DISPLAY is not None
    _forked = _forked or _opened or begun


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def _look_for_screen() -> None:
    """Raises OSError if there is no screen: GLFW would then end the process when asked for a window."""
    import glfw

    if not glfw.init() or not glfw.get_primary_monitor():
        raise OSError("GLFW finds no screen")


@functools.cache
def warn_of_software() -> None:
    """Warns once per process if pictures are drawn without a graphics card. An OpenGL context must be current."""
    try:
        from OpenGL import GL

        name = GL.glGetString(GL.GL_RENDERER).decode()  # pyright: ignore[reportAttributeAccessIssue] bytes
    except Exception:  # PyOpenGL is missing, or does not know this context: then it is unknown what draws
        return
    if any(word in name.lower() for word in ("llvmpipe", "softpipe", "swrast", "software")):
        warnings.warn(
            f"MuJoCo's pictures are drawn by the processor here ({name}), not by a graphics card, which is many times "
            "slower: make them smaller with width= and height=, or draw fewer lanes",
            stacklevel=2,
        )


def upload_heights(model: Any, mjr: Any, before: list[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
    """Gives OpenGL the model's height fields if they are not those of `before`, which is [] where they never change.
    Returns what OpenGL has now."""
    if not before or np.array_equal(before[0], model.hfield_data):
        return before
    mujoco, _ = load()
    for field in range(model.nhfield):
        mujoco.mjr_uploadHField(model, mjr, field)
    return [np.array(model.hfield_data)]


class MuJoCoDrawer(Drawer):
    """Draws lanes with one OpenGL context, each through a camera of its own. Made once per BatchEnv.

    lanes: the `library.Lanes`. settings: arguments of Gymnasium's MujocoRenderer. shown: the `shown.Shown`. follows:
        the body that cameras look at; None: they stay where they are. see: what makes a model and data, which hold the
        last step's results, what pictures show; its third argument is what the lane's state has. None: they stay so.
    """

    def __init__(
        self,
        lanes: Any,
        mode: str,
        settings: dict[str, Any],
        batch: Any,
        shown: Any,
        follows: int | None = None,
        see: Callable[[Any, Any, dict[str, Any]], None] | None = None,
    ):
        self._batch = batch
        self._shown: Any = shown
        self._follows, self._see = follows, see
        self._lanes: Any = lanes
        self._mode = mode
        self._settings = settings
        self._drawer: Any = None
        self._cameras: dict[int, Any] = {}
        self._heights: list[NDArray[np.float32]] = []

    def _open(self) -> Any:
        """Makes the MujocoRenderer."""
        try:
            from gymnasium.envs.mujoco.mujoco_rendering import MujocoRenderer
        except ImportError as error:
            raise DependencyNotInstalled(
                f"pictures of MuJoCo need imageio beside mujoco: {INSTALL} imageio ({error})"
            ) from error
        model, settings = self._lanes.model, self._settings
        mujoco, _ = load()
        self._data = mujoco.MjData(model)
        visual = model.vis.global_
        visual.offwidth = max(visual.offwidth, settings["width"])
        visual.offheight = max(visual.offheight, settings["height"])
        order = ("default_camera_config", "width", "height", "max_geom", "camera_id", "camera_name", "visual_options")
        drawer = MujocoRenderer(model, self._data, *(settings[name] for name in order))
        note_opengl()
        try:
            if self._mode == "human":
                _look_for_screen()
            drawer._get_viewer(self._mode)
        except Exception as error:  # GL libraries raise errors of many types
            if self._mode == "human":
                hint = "render_mode='human' needs a screen"
            else:
                hint = (
                    "set MUJOCO_GL=egl (with libEGL: apt install libegl1) or MUJOCO_GL=osmesa (with libOSMesa: "
                    "apt install libosmesa6) before Python starts"
                )
            raise DependencyNotInstalled(
                f"no OpenGL for MuJoCo's pictures (MUJOCO_GL={os.environ.get('MUJOCO_GL')!r}): {hint} "
                f"({type(error).__name__}: {error})"
            ) from error
        warn_of_software()
        if model.nhfield:
            self._heights = [np.array(model.hfield_data)]
        self._drawer = drawer
        return drawer

    def draw(self, lanes: Iterable[int]) -> tuple[Any, ...] | None:
        """A picture per lane: uint8 (height, width, 3), or float32 (height, width) of depths, or both; None in
        mode "human"."""
        refuse_fork("env.render()")
        mujoco, _ = load()
        state = self._batch.state() if self._see else {}
        drawer = self._open() if self._drawer is None else self._drawer
        viewer, pictures, elapsed = drawer._get_viewer(self._mode), [], self._batch.elapsed()
        viewer.make_context_current()  # another environment may have drawn since
        chosen = [int(lane) for lane in lanes]
        for lane, model in zip(chosen, self._shown.borrowed(chosen), strict=True):
            viewer.model = model
            self._heights = upload_heights(model, viewer.con, self._heights)
            viewer.data = self._lanes.data(lane, elapsed[lane] > 0, self._data, model)
            if self._see:
                self._see(model, viewer.data, {name: values[lane] for name, values in state.items()})
            if self._mode != "human":
                if lane not in self._cameras:  # looks at where the model is now, as in Gymnasium's first picture
                    viewer.cam = mujoco.MjvCamera()
                    viewer._init_camera()
                    drawer._set_cam_config()
                    self._cameras[lane] = viewer.cam
                viewer.cam = self._cameras[lane]
            if self._follows is not None:
                viewer.cam.lookat[:] = viewer.data.xpos[self._follows]
            picture = drawer.render(self._mode)
            if self._mode == "rgbd_tuple":
                pictures.append(tuple(np.ascontiguousarray(part) for part in picture))
            else:
                pictures.append(None if picture is None else np.ascontiguousarray(picture))
        return None if self._mode == "human" else tuple(pictures)

    def close(self) -> None:
        """Frees the OpenGL context; closes the window."""
        if self._drawer is not None and not _forked:
            for viewer in self._drawer._viewers.values():
                viewer.free()
        self._drawer = self._lanes = self._shown = None
