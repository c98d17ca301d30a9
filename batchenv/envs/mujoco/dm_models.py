"""Changes to the suite's models, which dm_control makes before it compiles them, too."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from batchenv.envs.mujoco import library


def read(path: Path) -> Element:
    """The XML of a file, in which the paths of other files do not depend on where it is."""
    root = ElementTree.parse(path).getroot()
    for include in root.iter("include"):
        include.set("file", str(path.parent / include.get("file", "")))
    for compiler in root.iter("compiler"):
        for name in ("meshdir", "texturedir"):
            if name in compiler.attrib:
                compiler.set(name, str(path.parent / compiler.attrib[name]))
    return root


def compiled(root: Element) -> Any:
    """The model of a file that has been changed."""
    return library.parse_model(ElementTree.tostring(root, encoding="unicode"))


def one(root: Element, tag: str, name: str) -> Element:
    """The first element with this tag and name."""
    found = root.find(f".//{tag}[@name='{name}']")
    assert found is not None, (tag, name)
    return found


def remove(root: Element, tag: str, names: Sequence[str] | None = None) -> None:
    """Takes the first elements of these names out, or all with this tag."""
    found = list(root.iter(tag)) if names is None else [one(root, tag, name) for name in names]
    parents = {child: parent for parent in root.iter() for child in parent}
    for element in found:
        parents[element].remove(element)


def without(path: Path, bodies: Sequence[str]) -> Any:
    """The model of a file without the bodies of these names."""
    root = read(path)
    remove(root, "body", bodies)
    return compiled(root)


def cartpole(path: Path, poles: int) -> Any:
    """A cart with that many poles, each on the one before."""
    root = read(path)
    world, pole = root.find("worldbody"), root.find("worldbody/body/body")
    assert world is not None
    assert pole is not None
    for number in range(2, poles + 1):
        pole = SubElement(pole, "body", name=f"pole_{number}", pos="0 0 1", childclass="pole")
        SubElement(pole, "joint", name=f"hinge_{number}")
        SubElement(pole, "geom", name=f"pole_{number}")
    world.find("geom").set("pos", f"0 0 {1 - poles - 0.05}")  # pyright: ignore[reportOptionalMemberAccess]
    near, far = world.findall("camera")[:2]
    near.set("pos", f"0 {-1 - 2 * poles} 1")
    far.set("pos", f"0 {-2 * poles} 2")
    return compiled(root)


def swimmer(path: Path, links: int) -> Any:
    """A chain of this many links. The file has the first, the head."""
    root = read(path)
    link = head = root.find("worldbody/body")
    assert head is not None
    actuators, sensors = SubElement(root, "actuator"), SubElement(root, "sensor")
    bound = 360 / links
    for k in range(links - 1):
        link = SubElement(link, "body", name=f"segment_{k}", pos="0 .1 0")  # pyright: ignore[reportArgumentType]
        for kind in ("visual", "inertial"):
            SubElement(link, "geom", {"class": kind, "name": f"{kind}_{k}"})
        SubElement(link, "site", name=f"site_{k}")
        SubElement(link, "joint", name=f"joint_{k}", range=f"{-bound} {bound}")
        SubElement(actuators, "motor", name=f"motor_{k}", joint=f"joint_{k}")
        for kind in ("velocimeter", "gyro"):
            SubElement(sensors, kind, name=f"{kind}_{k}", site=f"site_{k}")
    for camera in head.iter("camera"):  # those that follow the swimmer see all of it
        if camera.get("mode") == "trackcom":
            places = [float(place) * (links / 6) for place in camera.get("pos", "").split()]
            camera.set("pos", " ".join(map(str, places)))
    return compiled(root)


def quadruped(path: Path, floor: float | None = None, ball: bool = False, terrain: bool = False) -> Any:
    """The quadruped on a floor of this half size (None: the file's), with a ball, a target and walls, or on a terrain
    that it measures."""
    root = read(path)
    if floor is not None:
        one(root, "geom", "floor").set("size", f"{floor} {floor} .5")
    if not ball:
        remove(root, "geom", ["wall_px", "wall_py", "wall_nx", "wall_ny"])
        remove(root, "body", ["ball"])
        remove(root, "site", ["target"])
    if not terrain:
        remove(root, "geom", ["terrain"])
        remove(root, "rangefinder")
    return compiled(root)


def dog(path: Path, floor: float, ball: bool = False) -> Any:
    """The dog on a floor of this half size; with a ball, a target and walls or without."""
    root = read(path)
    one(root, "geom", "floor").set("size", f"{floor} {floor} .1")
    if not ball:
        remove(root, "body", ["ball"])
        remove(root, "geom", ["target", "wall_px", "wall_nx", "wall_py", "wall_ny"])
        remove(root, "camera", ["ball", "head"])
    return compiled(root)


def springs(seed: int, bodies: int) -> list[tuple[float, float]]:
    """The stiffness and damping of the springs that dm_control draws for a seed."""
    random = np.random.RandomState(seed if seed < 2**32 else [seed % 2**32, seed >> 32])
    return [(random.uniform(15, 25), random.uniform(0, 0)) for _ in range(bodies)]


def lqr(path: Path, springs: Sequence[tuple[float, float]], actuators: int) -> Any:
    """A chain of bodies on springs, of which the first few have motors. springs: the stiffness and damping of each."""
    root = read(path)
    parent = root.find("worldbody")
    assert parent is not None
    motors, tendons = SubElement(root, "actuator"), SubElement(root, "tendon")
    for k, (stiffness, damping) in enumerate(springs):
        parent = SubElement(parent, "body", name=f"body_{k}", pos=".25 0 0" if k else ".25 0 .1")
        SubElement(parent, "joint", name=f"joint_{k}", stiffness=str(stiffness), damping=str(damping))
        SubElement(parent, "geom", name=f"geom_{k}")
        SubElement(parent, "site", name=f"site_{k}")
        if k < actuators:
            SubElement(motors, "motor", name=f"motor_{k}", joint=f"joint_{k}")
        if k > 0:
            tendon = SubElement(tendons, "spatial", name=f"tendon_{k - 1}")
            SubElement(tendon, "site", site=f"site_{k - 1}")
            SubElement(tendon, "site", site=f"site_{k}")
    return compiled(root)
