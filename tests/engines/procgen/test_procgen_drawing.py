"""batchenv's drawing of stretched images against Qt's, which comes with procgen2; and games with and without it.

BATCHENV_PROCGEN_DRAWINGS sets how many images are drawn; the default keeps the suite short.
"""

import ctypes
import os
import shutil
import subprocess

import numpy as np
import pytest

from batchenv.envs.procgen import files
from batchenv.envs.procgen.games import MODES
from helpers.processes import python, run_python, succeeded
from helpers.procgen import need_library
from helpers.project import ROOT

DRAWINGS = int(os.environ.get("BATCHENV_PROCGEN_DRAWINGS", 4000))
RGB32, PREMULTIPLIED, SIDE = 4, 6, 64


@pytest.fixture(autouse=True)
def library():
    need_library()


class Pixels(ctypes.Structure):
    """`be_pixels` of csrc/engines/procgen/drawing.h."""

    _fields_ = [
        ("first", ctypes.c_void_p),
        ("width", ctypes.c_int),
        ("height", ctypes.c_int),
        ("stride", ctypes.c_int),
        ("opaque", ctypes.c_int),
    ]


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """be_draw_stretched."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not (ROOT / "csrc").is_dir():
        pytest.skip("needs a C compiler, and the sources")
    path = tmp_path_factory.mktemp("drawing") / "drawing.so"
    sources = [ROOT / "csrc/engines/procgen" / f"{name}.c" for name in ("drawing", "guard")]
    sources += [ROOT / "csrc/core/system" / f"{name}.c" for name in ("linkage", "shared")]
    include = ["-I", ROOT / "csrc", "-I", ROOT / "csrc/include"]
    flags = ["-O2", "-std=gnu11", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, *include, "-o", path, *sources, "-ldl", "-lm"], check=True)
    function = ctypes.CDLL(str(path)).be_draw_stretched
    function.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(Pixels), *[ctypes.c_double] * 4]
    return function


class Qt:
    """The functions of Qt that are needed here; objects of its classes are buffers."""

    def __init__(self):
        library = files.library_path()
        ctypes.CDLL(str(library))
        folder = library.parents[3] / "procgen2.libs"
        qt = ctypes.CDLL(str(next(folder.glob("libQt5Gui*"))))
        self._image = qt._ZN6QImageC1EPhiiiNS_6FormatEPFvPvES2_
        self._image.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int] * 4 + [ctypes.c_void_p] * 2
        self._painter = qt._ZN8QPainterC1EP12QPaintDevice
        self._painter.argtypes = [ctypes.c_void_p] * 2
        self.end = qt._ZN8QPainterD1Ev
        self.end.argtypes = [ctypes.c_void_p]
        self._draw = qt._ZN8QPainter9drawImageERK6QRectFRK6QImageS2_6QFlagsIN2Qt19ImageConversionFlagEE
        self._draw.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int]

    def image(self, pixels, form):
        image = ctypes.create_string_buffer(64)
        height, width = pixels.shape
        self._image(image, pixels.ctypes.data, width, height, 4 * width, form, None, None)
        return image

    def painter(self, image):
        painter = ctypes.create_string_buffer(64)
        self._painter(painter, image)
        return painter

    def draw(self, painter, image, shape, place):
        four = ctypes.c_double * 4
        self._draw(painter, four(*place), image, four(0, 0, shape[1], shape[0]), 0)


def picture(rng, opaque):
    """Random pixels, of which many are opaque or transparent."""
    height, width = rng.integers(2, 200, 2) if rng.random() < 0.9 else rng.integers(200, 2500, 2)
    alpha = rng.integers(0, 256, (height, width), dtype=np.uint32)
    alpha[rng.random(alpha.shape) < 0.3] = 255
    alpha[rng.random(alpha.shape) < 0.2] = 0
    if opaque:
        alpha[:] = 255
    pixels = alpha << 24
    for shift in (0, 8, 16):
        pixels |= rng.integers(0, 256, alpha.shape, dtype=np.uint32) * alpha // 255 << shift
    return np.ascontiguousarray(pixels)


def place_of(rng):
    """Where an image goes: (x, y, width, height), as the games have them, in whole or half pixels, or anywhere."""
    kind = rng.random()
    if kind < 0.4:
        unit = np.float32(64 / rng.choice([8, 9, 10, 12, 13, 15, 16, 20, 25, 35]))
        corner = [float(np.float32(rng.integers(-5, 30)) * unit - np.float32(rng.uniform(0, 30)) * unit) for _ in "xy"]
        return *corner, float(np.float32(1.04) * unit), float(np.float32(1.04) * unit)
    if kind < 0.6:
        return tuple(
            float(value) / rng.choice([1, 2]) for value in (*rng.integers(-20, 128, 2), *rng.integers(1, 160, 2))
        )
    scale = rng.choice([1, 3, 10, 64, 300])
    return *rng.uniform(-scale, 64, 2).tolist(), *rng.uniform(0.1, scale, 2).tolist()


def test_images_are_drawn_as_qt_draws_them(own):
    qt, rng = Qt(), np.random.default_rng(0)
    for _ in range(DRAWINGS // 40):
        opaque = bool(rng.random() < 0.3)
        pixels = picture(rng, opaque)
        height, width = pixels.shape
        theirs = rng.integers(0, 2**24, (SIDE, SIDE), dtype=np.uint32) | np.uint32(0xFF000000)
        ours = theirs.copy()
        image, canvas = qt.image(pixels, RGB32 if opaque else PREMULTIPLIED), qt.image(theirs, RGB32)
        painter = qt.painter(canvas)
        described = Pixels(pixels.ctypes.data, width, height, width, opaque)
        for _ in range(40):
            place = place_of(rng)
            if place[2:] == (width, height) or place[2] * 30000 < width or place[3] * 30000 < height:
                continue  # Qt takes other ways
            qt.draw(painter, image, pixels.shape, place)
            own(ours.ctypes.data, SIDE, ctypes.byref(described), *place)
            np.testing.assert_array_equal(ours, theirs, err_msg=f"{width} x {height} at {place}")
        qt.end(painter)


PLAY = """
import hashlib, sys
import numpy as np
import batchenv
for game in sys.argv[1:]:
    env = batchenv.make(f"procgen-{game}-v0", 4, distribution_mode="easy")
    seen = hashlib.sha256(env.reset(seed=0)[0].tobytes())
    for row in np.random.default_rng(0).integers(0, 15, (300, 4)):
        seen.update(env.step(row)[0].tobytes())
    print(seen.hexdigest())
"""


def test_games_are_the_same_without_it():
    fast = run_python(PLAY, *MODES, BATCHENV_PROCGEN_FAST=1)
    assert fast == run_python(PLAY, *MODES, BATCHENV_PROCGEN_FAST=0)


def test_random_options_and_calls():
    tool = ROOT / "tools/verify/compare_procgen.py"
    if not tool.exists():
        pytest.skip("needs the tools of the repository")
    told = succeeded(python(tool, "--trials", "12"))
    assert "12 trials, 0 of which differ" in told
