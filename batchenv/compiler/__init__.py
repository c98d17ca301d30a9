"""Envs from C files and shared libraries that are not part of batchenv."""

from batchenv.compiler.build import CompileError
from batchenv.compiler.libraries import Library, compile, load

__all__ = ["CompileError", "Library", "compile", "load"]
