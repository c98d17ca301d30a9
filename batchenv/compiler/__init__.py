"""Envs from C files and shared libraries that batchenv's own repository has never seen."""

from batchenv.compiler.build import CompileError
from batchenv.compiler.libraries import Library, compile, load

__all__ = ["CompileError", "Library", "compile", "load"]
