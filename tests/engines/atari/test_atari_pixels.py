"""The pixel path of the Atari games equals OpenCV's, for every instruction set this CPU has."""

import ctypes

import numpy as np
import pytest

from batchenv import _core
from helpers import compiled

cv2 = pytest.importorskip("cv2", reason="needs opencv-python, which is what the pixels are compared with")

SHAPES = [(84, 84), (64, 64), (96, 96), (84, 110), (100, 120), (210, 84), (84, 160), (1, 1), (209, 159), (7, 3)]
BLOCKS = [(105, 80), (42, 80), (70, 40), (105, 32), (21, 16), (210, 80), (210, 160)]


class Library:
    """The C routine, on screens of `height` rows."""

    def __init__(self, isa):
        core = compiled.library("pixel_plan.c", "pixel.c", isa=isa.upper())
        self._make, self._free = core.be_pixel_plan_make, core.be_pixel_plan_free
        self._frame = getattr(core, f"be_pixel_frame_{isa}")

    def frame(self, palette, a, b, shape, channels, changed=None, last=77):
        """changed: uint8 (height,): rows of `last` without a changed row of the screens are left as they are."""
        plan = ctypes.create_string_buffer(4096)
        table = palette.copy()
        assert self._make(plan, len(a), *shape, channels, table.ctypes.data_as(ctypes.c_void_p)) == 0
        out = np.empty((*shape, channels) if channels == 3 else shape, np.uint8)
        out[:] = last
        guarded = np.append(out.ravel(), np.full(64, 201, np.uint8))
        given = [None if s is None else np.append(s.ravel(), np.zeros(64, np.uint8)) for s in (a, b)]
        given += [None if changed is None else changed.astype(np.uint8), guarded]
        self._frame(plan, *(None if array is None else array.ctypes.data_as(ctypes.c_void_p) for array in given))
        self._free(plan)
        assert (guarded[out.nbytes :] == 201).all(), "written beyond the frame"
        return guarded[: out.nbytes].reshape(out.shape)


def expected(palette, a, b, shape, channels):
    """As gymnasium.wrappers.AtariPreprocessing: the maximum of the levels, then cv2.resize."""
    if channels == 1:  # the grey level of index i stands in entry i + 1, as in the emulator's tables
        levels = np.append(palette[1:], 0) & 255
    else:
        levels = np.stack([palette >> 16, palette >> 8, palette], axis=1) & 255
    levels = levels.astype(np.uint8)
    frame = levels[a]
    if b is not None:
        frame = np.maximum(frame, levels[b])
    return cv2.resize(frame, shape[::-1], interpolation=cv2.INTER_AREA)


def screens(rng, height, kind):
    if kind == "noise":
        return [rng.integers(0, 128, (height, 160)).astype(np.uint8) * 2 for _ in range(2)]
    if kind == "odd":
        return [rng.integers(0, 256, (height, 160)).astype(np.uint8) for _ in range(2)]
    # As games draw: rows repeat, few colours, two frames mostly alike.
    rows = rng.choice(rng.integers(0, 128, 6), (9, 160))
    a = rows[np.sort(rng.integers(0, 9, height))].astype(np.uint8) * 2
    b = a.copy()
    b[40:60, 30:50] = a[41:61, 33:53]
    return [a, b]


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("isa", _core.supported_isas())
def test_frames_equal_opencv(isa, channels):
    library, rng = Library(isa), np.random.default_rng(4)
    for shape in SHAPES + BLOCKS:
        for height in (210, 250):
            for kind in ("noise", "odd", "game"):
                palette = rng.integers(0, 2**24, 256).astype(np.uint32)
                a, b = screens(rng, height, kind)
                for second in (b, None, a):
                    ours = library.frame(palette, a, second, shape, channels)
                    theirs = expected(palette, a, second, shape, channels)
                    np.testing.assert_array_equal(ours, theirs, err_msg=f"{shape} of {height} rows, {kind}")


@pytest.mark.parametrize("isa", _core.supported_isas())
def test_many_frames_of_the_usual_size(isa):
    library, rng = Library(isa), np.random.default_rng(5)
    worst = 0
    for _ in range(60):
        palette = rng.integers(0, 2**24, 256).astype(np.uint32)
        a, b = screens(rng, 210, "noise")
        ours, theirs = library.frame(palette, a, b, (84, 84), 1), expected(palette, a, b, (84, 84), 1)
        worst = max(worst, int(np.abs(ours.astype(int) - theirs).max()))
    assert worst == 0


def halves(rng, height, shape):
    """A screen whose blocks have a mean between two levels, which OpenCV rounds in one way or another."""
    blocks = np.arange(height * 160 // (shape[0] * shape[1])) % 2 + rng.integers(0, 254, (*shape, 1))
    rows, columns = height // shape[0], 160 // shape[1]
    return blocks.reshape(*shape, rows, columns).transpose(0, 2, 1, 3).reshape(height, 160).astype(np.uint8)


@pytest.mark.parametrize("height", [210, 250])
@pytest.mark.parametrize("isa", _core.supported_isas())
def test_means_of_blocks_are_rounded_as_opencv_does(isa, height):
    library, rng, palette = Library(isa), np.random.default_rng(6), np.roll(np.arange(256, dtype=np.uint32), 1)
    for rows in (n for n in range(1, height + 1) if height % n == 0):
        for columns in (n for n in range(1, 161) if 160 % n == 0):
            screen = halves(rng, height, (rows, columns))
            ours = library.frame(palette, screen, None, (rows, columns), 1)
            theirs = expected(palette, screen, None, (rows, columns), 1)
            np.testing.assert_array_equal(ours, theirs.reshape(ours.shape), err_msg=f"{rows} x {columns}")


def altered(rng, screens, kind):
    """Screens that differ from these in some rows; and which rows these are, with some others that do not differ."""
    height = len(screens[0])
    chance = {"none": 0, "few": 0.03, "half": 0.5, "all": 1}[kind]
    marked = rng.random(height) < chance
    if kind == "few" and not marked.any():
        marked[rng.integers(height)] = True
    others = [screen.copy() for screen in screens]
    for y in np.flatnonzero(marked):
        which = rng.integers(4)  # of the screens; 3: of none
        for k, screen in enumerate(others):
            if which in (k, 2):
                place = rng.integers(160)
                screen[y, place : place + 1 + rng.integers(40)] = rng.integers(128) * 2
    return others, marked


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("isa", _core.supported_isas())
def test_what_has_changed_since_the_last_frame_is_made_again(isa, channels):
    """The last frame, with the rows made again in which anything has changed, equals a frame made from nothing."""
    library, rng = Library(isa), np.random.default_rng(7)
    for shape in SHAPES + BLOCKS:
        for height in (210, 250):
            palette = rng.integers(0, 2**24, 256).astype(np.uint32)
            pair = screens(rng, height, rng.choice(["noise", "odd", "game"]))
            last = library.frame(palette, *pair, shape, channels)
            for kind in ("few", "half", "none", "few", "all", "few"):
                pair, changed = altered(rng, pair, kind)
                whole = expected(palette, *pair, shape, channels).reshape(last.shape)
                # The emulator may have exchanged its two pictures.
                order = pair if rng.random() < 0.5 else pair[::-1]
                part = library.frame(palette, *order, shape, channels, changed, last)
                np.testing.assert_array_equal(part, whole, err_msg=f"{shape} of {height} rows, {kind}")
                last = part


@pytest.mark.parametrize("shape", [(84, 84), (105, 80), (210, 160), (209, 159)])
@pytest.mark.parametrize("isa", _core.supported_isas())
def test_rows_without_a_change_are_left_as_they_are(isa, shape):
    """Exactly the rows of the frame are written that a changed row of the screen has a share in."""
    library, rng, palette = Library(isa), np.random.default_rng(8), np.full(256, 5, np.uint32)
    for channels in (1, 3):
        for source in (0, 1, 2, 3, 104, 105, *rng.integers(210, size=5), 208, 209):
            changed = np.arange(210) == source
            screen = np.zeros((210, 160), np.uint8)
            out = library.frame(palette, screen, screen, shape, channels, changed, last=99)
            written = (out.reshape(len(out), -1) != 99).any(axis=1)
            rows = np.arange(shape[0])
            first, last = rows * 210 / shape[0], (rows + 1) * 210 / shape[0]
            shares = np.minimum(last, source + 1) - np.maximum(first, source)
            np.testing.assert_array_equal(written, shares > 1e-3, err_msg=f"row {source}")
