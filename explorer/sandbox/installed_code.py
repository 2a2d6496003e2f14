"""Where installed code lies: what a child may read, and all that the sandbox's server is shown.

Folders that hold Python's library or packages, never a prefix, a home, or a folder above them:
secrets lie there, too. (The server imports this file, so it must not import torch.)
"""

from __future__ import annotations

import importlib.util
import os
import site
import sys
import sysconfig
from pathlib import Path

#: Where the libraries lie that Python's own are linked with.
_SYSTEM = ("/lib", "/lib64", "/usr/lib")
#: How a folder of packages is called, wherever it is.
_PACKAGES = ("site-packages", "dist-packages")


def code_directories() -> list[Path]:
    """Each folder as it is named, and where its links lead. Not the project's root, which may also
    hold an operator's secrets: only the package."""
    named = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    named += [*site.getsitepackages(), *(p for p in sys.path if Path(p).name in _PACKAGES)]
    paths = [*map(Path, named), package_directory("explorer"), *map(Path, _SYSTEM)]
    existing = [path for path in paths if path.is_dir()]
    return list(dict.fromkeys([*existing, *(path.resolve() for path in existing)]))


def package_directory(name: str) -> Path:
    """The folder of an importable package, which is not imported."""
    found = importlib.util.find_spec(name.partition(".")[0])
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"there is no package {name}")
    return Path(found.submodule_search_locations[0])


def interpreter_files() -> list[Path]:
    """What starts Python besides those folders: its program, a shared library, and the file that
    says where a virtual environment has its library."""
    library = Path(*(sysconfig.get_config_var(name) or "" for name in ("LIBDIR", "INSTSONAME")))
    base = getattr(sys, "_base_executable", sys.executable)
    paths = [Path(sys.executable), Path(base), Path(sys.prefix, "pyvenv.cfg"), library]
    existing = [path for path in paths if os.path.isfile(path)]  # False also where it is hidden
    return list(dict.fromkeys([*existing, *(path.resolve() for path in existing)]))


def python_path() -> str:
    """The PYTHONPATH with which a new process finds the same modules."""
    root = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
