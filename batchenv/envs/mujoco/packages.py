"""Models that are in other packages, which are found without importing them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from gymnasium.error import DependencyNotInstalled

from batchenv.envs.mujoco import library


def file_of(module: str, *parts: str, package: str, install: str) -> Path:
    """The path of a file of an installed package. package: the name that pip has for it. install: what installs it, and
    the oldest version that has such files.

    Raises:
        gymnasium.error.DependencyNotInstalled: the package, or this file of it, is missing.
    """
    found = importlib.util.find_spec(module)
    folders = found.submodule_search_locations if found is not None else None
    if not folders:
        raise DependencyNotInstalled(f"the models of these tasks are in the package {package}: {install}")
    path = Path(folders[0], *parts)
    if not path.is_file():
        raise DependencyNotInstalled(f"the installed package {package} has no {path}: {install}")
    return path


def drop_meshes(spec: Any) -> None:
    """Takes the meshes that are only seen out of an MjSpec, on which nothing that moves depends. Geoms that are left
    are drawn instead.

    Raises:
        ValueError: a mesh touches other geoms, or has the mass of a body.
    """
    mujoco, _ = library.load()
    for geom in list(spec.geoms):
        if geom.type != mujoco.mjtGeom.mjGEOM_MESH:
            geom.group = min(geom.group, 2)  # one that is drawn
            continue
        if geom.contype or geom.conaffinity or not geom.parent.explicitinertial:
            raise ValueError(f"the mesh {geom.meshname!r} is not only seen")
        spec.delete(geom)
    for mesh in list(spec.meshes):
        spec.delete(mesh)
