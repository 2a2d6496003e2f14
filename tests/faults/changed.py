"""Imports the product with one module changed."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]


def path_of(module: str) -> Path:
    """The file of a module or package, such as `explorer.program.rewrite`."""
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def replaced(module: str, old: str, new: str) -> str:
    """The module's text with `old`, which must occur once, replaced."""
    text = path_of(module).read_text()
    assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times in {module}"
    return text.replace(old, new)


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, module: str, text: str) -> None:
        super().__init__(module, str(path_of(module)))
        self.text = text

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.text, self.path, "exec", dont_inherit=True)


class Changed:
    """As the first finder in `sys.meta_path`, it makes `module` load with this text."""

    def __init__(self, module: str, text: str) -> None:
        self.module, self.text = module, text

    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        if name != self.module:
            return None
        loader = _Loader(name, self.text)
        return importlib.util.spec_from_file_location(name, loader.path, loader=loader)


def install(module: str, text: str) -> None:
    """Make this process load `module` with this text; call it before the product is imported."""
    assert module not in sys.modules
    sys.meta_path.insert(0, Changed(module, text))  # type: ignore[arg-type]


def load_changed(module: str, text: str) -> ModuleType:
    """A second copy of an imported module, with this text; the first stays imported."""
    loader = _Loader(module, text)
    spec = importlib.util.spec_from_file_location(module, loader.path, loader=loader)
    assert spec is not None
    changed = importlib.util.module_from_spec(spec)
    loader.exec_module(changed)
    return changed
