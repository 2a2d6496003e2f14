"""Imports of what is not here: they speak when they are used, not where they stand.

Scripts import much that they need in one place only, or not at all. So `import pandas` succeeds,
with a stand-in whose attributes are stand-ins too; the first use of one, such as a call, raises.
Nothing real is behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from explorer.language.errors import OutsideLanguage
from explorer.language.notices import notice

#: The longest path of a stand-in that is shown.
MAX_PATH = 100


class MissingImportError(ModuleNotFoundError):
    """Python's own error for the import, with our sentence and what to do about it."""

    def __init__(self, python: str, message: str, hint: str | Callable[[], str]) -> None:
        super().__init__(python)
        self.message, self._hint = message, hint

    @property
    def hint(self) -> str:
        return self._hint if isinstance(self._hint, str) else self._hint()


class Import:
    """One name that a program imports in vain: `path` says of what, `why` how it was refused."""

    def __init__(self, path: str, name: str, why: OutsideLanguage, line: int) -> None:
        self.path = f"{path}.{name}" if name else path
        top = path.split(".")[0]
        #: A part that a known module lacks, or a module.
        self.shown = top if why.message.startswith(f"{top} is ") else self.path
        self.why, self.line, self.is_used = why, line, False
        self.python = (
            f"cannot import name '{name}' from '{path}'"
            if name
            else f"No module named '{self.shown}'"
        )

    def error(self, path: str = "") -> MissingImportError:
        """The error of using `path`, a stand-in of this import; without a path, of importing it."""
        self.is_used = True
        message = self.why.message
        if path and path != self.path:
            message = f"{path} is not available here."
        if path and self.line:
            message = f"{message.rstrip('.')} (imported on line {self.line})."
        return MissingImportError(self.python, message, lambda: self.why.hint)


class MissingImports:
    """The imports of one run that were in vain."""

    def __init__(self) -> None:
        self.imports: list[Import] = []

    def stand_in(
        self, path: str, name: str, why: OutsideLanguage, line: int, *, is_caught: bool
    ) -> MissingImport:
        """What `import path`, or `from path import name`, gives the program.

        Raises MissingImportError if the import `is_caught`: it stands in a `try` that asks whether
        the module is there.
        """
        missing = Import(path, name, why, line)
        if is_caught:
            raise missing.error()
        self.imports.append(missing)
        return MissingImport(missing, missing.path)

    def unused(self) -> str:
        """A sentence about those that were not used; empty if all were."""
        used = {missing.shown for missing in self.imports if missing.is_used}
        names = [m.shown[:MAX_PATH] for m in self.imports if m.shown not in used]
        names = list(dict.fromkeys(names))
        if not names:
            return ""
        if len(names) == 1:
            return f"{names[0]} is not available here; the program did not use it."
        listed = ", ".join(names[:-1]) if len(names) < 7 else ", ".join(names[:6])
        last = names[-1] if len(names) < 7 else f"{len(names) - 6} more"
        return f"{listed} and {last} are not available here; the program did not use them."


class MissingImport:
    """The stand-in: a name that may be passed on and compared, and that raises when it is used."""

    __slots__ = ("_import", "_path")

    def __init__(self, missing: Import, path: str) -> None:
        self._import, self._path = missing, path[:MAX_PATH]

    def member(self, name: str) -> MissingImport:
        """The value of `.name`: a stand-in again."""
        return MissingImport(self._import, f"{self._path}.{name}")

    def top(self) -> MissingImport:
        """The module that `import a.b` gives the name `a`."""
        return MissingImport(self._import, self._path.split(".")[0])

    def ignore_change(self) -> None:
        """Something is set on it: that has no effect, which the reader is told."""
        notice("What is set on a module that is not available here has no effect.")

    def error(self) -> MissingImportError:
        return self._import.error(self._path)

    def __getitem__(self, key: Any) -> MissingImport:
        """`Float[Tensor, "batch"]` annotates a type; anything done with the item raises."""
        return MissingImport(self._import, f"{self._path}[…]")

    def __setitem__(self, key: Any, value: Any) -> None:
        self.ignore_change()

    def __delitem__(self, key: Any) -> None:
        self.ignore_change()

    def __repr__(self) -> str:
        return f"<{self._path}: not available here>"

    def __bool__(self) -> bool:
        return True  # as every module

    def __copy__(self) -> MissingImport:
        return self

    def __deepcopy__(self, memo: Any) -> MissingImport:
        return self

    def __instancecheck__(self, value: Any) -> bool:
        return False  # nothing is one of what is not here

    def __subclasscheck__(self, kind: Any) -> bool:
        return False


def _refuse(self: MissingImport, *args: Any, **kwargs: Any) -> NoReturn:
    raise self.error()


def _refuse_in_torch(
    cls: type, function: Any, types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    for value in (*args, *(kwargs or {}).values()):
        for item in value if isinstance(value, list | tuple) else [value]:
            if type(item) is MissingImport:
                raise item.error()
    raise TypeError("a name that is not available here is not a tensor")


#: What counts as a use: Python, numpy and torch look these up on the class.
_USES = """
    call len iter next reversed contains enter exit neg pos abs invert round trunc floor ceil
    int float complex index lt le gt ge array array_ufunc array_function reduce_ex fspath dlpack
"""
_OPERATORS = """
    add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or
"""
_IN_THREE_FORMS = [prefix + name for name in _OPERATORS.split() for prefix in ("", "r", "i")]
for _name in _USES.split() + _IN_THREE_FORMS:
    setattr(MissingImport, f"__{_name}__", _refuse)
MissingImport.__torch_function__ = classmethod(_refuse_in_torch)  # type: ignore[attr-defined]
