"""Imports of what is not installed: they speak when they are used, not where they stand.

Scripts import much that they need in one place only, or not at all. So `import pandas` succeeds
where there is no pandas, with a stand-in whose attributes are stand-ins too; the first use of one,
such as a call, raises what the import would have raised. Where a `try` of the program asks whether
a package is there, the import itself raises.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NoReturn

from explorer import limits
from explorer.program.completion.names import closest_name
from explorer.program.notices import notice

#: What to do without a package, for those that people import most.
HINTS = {
    "tensorflow": "Programs here use PyTorch: loss.backward() does the work of tf.GradientTape.",
    "keras": "Programs here use PyTorch: write the model as an nn.Module.",
    "jax": "Programs here use PyTorch: torch.func.grad(f) does the work of jax.grad(f).",
    "autograd": "Programs here use PyTorch: torch.func.grad(f) does the work of grad(f).",
    "pytorch_lightning": "Write the model as an nn.Module, and the training loop yourself.",
    "lightning": "Write the model as an nn.Module, and the training loop yourself.",
    "d2l": "Write the helper functions you need into the program.",
}
#: Names that PyTorch or numpy has removed or moved, and those to use now.
MOVED = {
    "torch.eig": "torch.linalg.eig",
    "torch.symeig": "torch.linalg.eigh",
    "torch.gels": "torch.linalg.lstsq",
    "torch.lstsq": "torch.linalg.lstsq",
    "torch.solve": "torch.linalg.solve",
    "torch.triangular_solve": "torch.linalg.solve_triangular",
    "torch.gesv": "torch.linalg.solve",
    "torch.potrf": "torch.linalg.cholesky",
    "torch.matrix_rank": "torch.linalg.matrix_rank",
    "torch.nn.utils.clip_grad_norm": "torch.nn.utils.clip_grad_norm_",
    "numpy.float": "float",
    "numpy.int": "int",
    "numpy.bool": "bool",
    "numpy.product": "numpy.prod",
}


class MissingImportError(ModuleNotFoundError):
    """Python's own error for the import, with our sentence and what to do about it."""

    def __init__(self, python: str, message: str, hint: str) -> None:
        super().__init__(python)
        self.message, self.hint = message, hint


class Import:
    """One name that a program imports in vain, on this line: `path` says of what, `name` which."""

    def __init__(self, error: ImportError, path: str, name: str, line: int) -> None:
        self.path = f"{path}.{name}" if name and name != "*" else path
        #: The package that is not here, or what an installed one lacks.
        self.shown = self.path
        if isinstance(error, ModuleNotFoundError) and error.name:
            self.shown = error.name.split(".")[0] if _top(error.name) not in sys.modules else path
        self.python, self.line, self.is_used = str(error), line, False

    @property
    def message(self) -> str:
        top = _top(self.path)
        if self.shown in (top, "") or top not in sys.modules:
            return f"{self.shown or self.path} is not available here."
        parent, _, name = self.path.rpartition(".")
        return f"{parent} has no {name}."

    def error(self, path: str = "") -> MissingImportError:
        """The error of using `path`, a stand-in of this import."""
        self.is_used = True
        message = self.message
        if path and path != self.path:
            message = f"{path} is not available here."
        if path and self.line:
            message = f"{message.rstrip('.')} (imported on line {self.line})."
        return MissingImportError(self.python, message, hint_for(self.path))


def hint_for(path: str) -> str:
    """What to do without a module or a name of one."""
    top = _top(path)
    if path in MOVED:
        return f"Use {MOVED[path]}."
    if top in HINTS:
        return HINTS[top]
    known = sys.modules if top not in sys.modules else set(_names_around(path))
    name = top if top not in sys.modules else path.rpartition(".")[2]
    if close := closest_name(name, (n for n in known if "." not in n)):
        parent = path.rpartition(".")[0] if top in sys.modules else ""
        return f"Did you mean {parent}{'.' if parent else ''}{close}?"
    if top in sys.modules:
        return ""
    return f"It is not installed. Paste what you use of {top} in place of the import."


def _top(path: str) -> str:
    return path.split(".")[0]


def _names_around(path: str) -> Iterator[str]:
    module = sys.modules.get(path.rpartition(".")[0])
    return iter(dir(module)) if module is not None else iter(())


class MissingImports:
    """The imports of one run that were in vain."""

    def __init__(self) -> None:
        self.imports: list[Import] = []

    def stand_in(
        self, error: ImportError, path: str, name: str, line: int, *, is_top: bool = False
    ) -> Any:
        """What `import path`, or `from path import name`, gives the program after this error;
        without `as` (`is_top`), the name of its first part.

        Raises the error if it is about something else: a module of the program's own that imports
        what is not here.
        """
        if not _is_about(error, path):
            raise error
        missing = Import(error, path, name, line)
        if name == "*":
            notice("`import *` brings no names: this module is not available here.")
            missing.is_used = True
            return None
        self.imports.append(missing)
        if name:
            return MissingImport(missing, missing.path)
        here = sys.modules.get(_top(path)) if is_top else None
        return here or MissingImport(missing, _top(path) if is_top else path)

    def unused(self) -> str:
        """A sentence about those that were not used; empty if all were."""
        used = {missing.shown for missing in self.imports if missing.is_used}
        names = [m.shown[: limits.MAX_STAND_IN] for m in self.imports if m.shown not in used]
        names = list(dict.fromkeys(names))
        if not names:
            return ""
        if len(names) == 1:
            return f"{names[0]} is not available here; the program did not use it."
        listed = ", ".join(names[:-1]) if len(names) < 7 else ", ".join(names[:6])
        last = names[-1] if len(names) < 7 else f"{len(names) - 6} more"
        return f"{listed} and {last} are not available here; the program did not use them."


def _is_about(error: ImportError, path: str) -> bool:
    """Whether the import itself failed, or an installed package that lacks an optional one."""
    name = error.name or ""
    if path.startswith(".") or _top(name) == _top(path):
        return True
    module = sys.modules.get(_top(path))
    return module is None or "site-packages" in str(getattr(module, "__file__", ""))


class MissingImport:
    """The stand-in: a name that may be passed on and compared, and that raises when it is used."""

    __slots__ = ("_import", "_path")

    def __init__(self, missing: Import, path: str) -> None:
        object.__setattr__(self, "_import", missing)
        object.__setattr__(self, "_path", path[: limits.MAX_STAND_IN])

    def __getattr__(self, name: str) -> MissingImport:
        if name[:2] == "__":  # Python asks what it can do
            raise AttributeError(name)
        return MissingImport(_import_of(self), f"{self._path}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        notice("What is set on a module that is not available here has no effect.")

    __setitem__ = __setattr__

    def __delattr__(self, name: str) -> None:
        notice("What is set on a module that is not available here has no effect.")

    __delitem__ = __delattr__

    def __getitem__(self, key: Any) -> MissingImport:
        """`Float[Tensor, "batch"]` annotates a type; anything done with the item raises."""
        return MissingImport(_import_of(self), f"{self._path}[…]")

    def __repr__(self) -> str:
        return f"<{self._path}: not available here>"

    def __bool__(self) -> bool:
        return True  # as every module

    def __copy__(self) -> MissingImport:
        return self

    def __deepcopy__(self, memo: Any) -> MissingImport:
        return self

    def __or__(self, other: Any) -> MissingImport:
        return self  # an annotation, `pd.DataFrame | None`

    __ror__ = __or__

    def __instancecheck__(self, value: Any) -> bool:
        return False  # nothing is one of what is not here

    def __subclasscheck__(self, kind: Any) -> bool:
        return False


def _import_of(stand_in: MissingImport) -> Import:
    found: Any = object.__getattribute__(stand_in, "_import")
    assert isinstance(found, Import)
    return found


def _refuse(self: MissingImport, *args: Any, **kwargs: Any) -> NoReturn:
    raise _import_of(self).error(str(object.__getattribute__(self, "_path")))


def _refuse_in_torch(
    cls: type, function: Any, types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    for value in (*args, *(kwargs or {}).values()):
        for item in value if isinstance(value, list | tuple) else [value]:
            if type(item) is MissingImport:
                _refuse(item)
    raise TypeError("a name that is not available here is not a tensor")


#: What counts as a use: Python, numpy and torch look these up on the class.
_USES = """
    call len iter next reversed contains enter exit neg pos abs invert round trunc floor ceil
    int float complex index lt le gt ge array array_ufunc array_function reduce_ex fspath dlpack
    mro_entries
"""
_OPERATORS = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor"
_IN_THREE_FORMS = [prefix + name for name in _OPERATORS.split() for prefix in ("", "r", "i")]
for _name in _USES.split() + _IN_THREE_FORMS:
    setattr(MissingImport, f"__{_name}__", _refuse)
MissingImport.__torch_function__ = classmethod(_refuse_in_torch)  # type: ignore[attr-defined]
