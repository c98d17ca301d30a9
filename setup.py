"""Builds batchenv._core: Cython over the C core, whose kernels are compiled once per x86-64 instruction set."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

try:
    from setuptools import Extension, setup
    from setuptools.command.build_ext import build_ext
    from setuptools.command.build_py import build_py
except ModuleNotFoundError:
    sys.exit(
        "setuptools is not installed here. `pip install -e .` brings along all that a build needs; for "
        "`python setup.py ...` do `pip install 'setuptools>=77' 'cython>=3.1' 'numpy>=2.0'` first"
    )

import build_config
from build_objects import Builder


class BuildExt(build_ext):
    """Compiles only what has changed, in parallel."""

    def build_extension(self, extension):
        builder = Builder(self.compiler, self.parallel)
        objects = builder.compile()
        target = Path(self.get_ext_fullpath(extension.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)  # setuptools links only where an object is newer, not where one is gone
        flags = [*build_config.LINK_FLAGS, *(["-fopenmp"] if builder.openmp else [])]
        self.compiler.link_shared_object(objects, str(target), extra_postargs=flags, target_lang="c")


class BuildPy(build_py):
    """Brings along the headers that authors of envs include: batchenv.compile needs them where this is installed."""

    def build_package_data(self):
        super().build_package_data()
        for header in Path(__file__).resolve().parent.glob("csrc/include/*.h"):
            target = Path(self.build_lib, "batchenv", "include", header.name)
            self.mkpath(str(target.parent))
            self.copy_file(str(header), str(target), preserve_mode=False)


# The sources are listed in build_config.py.
setup(ext_modules=[Extension("batchenv._core", [])], cmdclass={"build_ext": BuildExt, "build_py": BuildPy})
