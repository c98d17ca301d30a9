"""The families of environments: what they have beside parameters and state, such as keywords, attributes that are not
numbers, and pictures. Each module says which family is its own: see `registry.Family`."""

from __future__ import annotations

import importlib
import pkgutil

from batchenv._core import env_types, type_info
from batchenv.backend.translator import Translator
from batchenv.registry import family_of
from batchenv.system.import_lock import importing

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


# Not those of users, whose types may have the name of any class in a module.
_BUILT_IN = frozenset(kind["name"] for kind in env_types())


def translator(type_name: str) -> Translator:
    """A new translator for a C type. The modules of its family are imported here."""
    info = type_info(type_name)
    built_in = type_name in _BUILT_IN
    # What a user's type reads says that it is a task over a model, whatever its family is called.
    steps_model = info["reads"] is not None
    family = family_of(info["family"] if built_in or not steps_model else "MuJoCo")
    if family.name == "MuJoCo" and not (built_in or steps_model):
        family = family_of(None)
    names = (type_name, type_name.removesuffix("V4")) if built_in else ()
    made = Translator()
    if family.translators:
        with importing:
            modules = (family.translators,) if isinstance(family.translators, str) else family.translators
            loaded = [importlib.import_module(module) for module in modules]
            found = (getattr(module, name, None) for name in (*names, family.default) for module in loaded)
            made = next((one for one in found if isinstance(one, type) and issubclass(one, Translator)), Translator)()
    made.type_name = type_name
    return made
