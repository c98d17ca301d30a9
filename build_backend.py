"""setuptools as pip's build backend, but with Cython and NumPy only where they are needed.

To install these into pip's fresh environment takes longer than to compile what has changed since the last build.
"""

from setuptools._distutils.ccompiler import new_compiler
from setuptools._distutils.sysconfig import customize_compiler
from setuptools.build_meta import (  # noqa: F401
    build_editable,
    build_sdist,
    build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from setuptools.errors import CompileError

import build_objects


def get_requires_for_build_sdist(config_settings=None):
    return []


def get_requires_for_build_wheel(config_settings=None):
    compiler = new_compiler()
    customize_compiler(compiler)
    try:
        return build_objects.TOOLS if build_objects.Builder(compiler).needs_tools() else []
    except CompileError:  # the build itself will say it
        return build_objects.TOOLS


get_requires_for_build_editable = get_requires_for_build_wheel
