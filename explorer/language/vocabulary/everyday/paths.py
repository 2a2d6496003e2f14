"""os.path, pathlib and glob: paths are texts, and none of them exists."""

from __future__ import annotations

import errno
import pathlib
import posixpath
from collections.abc import Callable, Iterator
from typing import Any

from explorer.language.notices import notice
from explorer.language.vocabulary.class_proxy import ClassProxy
from explorer.language.vocabulary.everyday.checks import check_text_length
from explorer.language.vocabulary.stand_in import StandIn

TITLE = "Paths"
#: The working folder and the home folder of a program.
FOLDER = HOME = "/home/user"
NO_FILES = "There are no files here: no path exists, and no folder is made."


def to_path(value: Any) -> str:
    """The text of a path. Raises TypeError, as Python does."""
    if isinstance(value, Path):
        value = str(value)
    if type(value) is not str:
        kind = type(value).__name__[:60]
        raise TypeError(f"expected str, bytes or os.PathLike object, not {kind}")
    check_text_length(len(value))
    return value


def missing(path: Any) -> FileNotFoundError:
    """The error of a file that cannot be opened."""
    notice("There are no files here. Write the data into the program, or make it with torch.rand.")
    text = to_path(path)[:200]
    return FileNotFoundError(errno.ENOENT, "No such file or directory", text)


def _absolute(path: str) -> str:
    return posixpath.normpath(posixpath.join(FOLDER, path))


def _expanded(path: str) -> str:
    return HOME + path[1:] if path == "~" or path.startswith("~/") else path


def _relative(path: str, start: str = FOLDER) -> str:
    return posixpath.relpath(_absolute(path), _absolute(start))


def _of_paths(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of paths, which gets their texts."""

    def call(*paths: Any) -> Any:
        texts = list(map(to_path, paths))
        check_text_length(sum(map(len, texts)))
        return function(*texts)

    call.__doc__, call.__name__ = function.__doc__, function.__name__
    return call


def _of_list(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda paths: function([to_path(path) for path in paths])


def exists(path: Any) -> bool:
    """Whether a path exists: none does."""
    to_path(path)
    notice(NO_FILES)
    return False


def make_folder(path: Any, mode: int = 0o777, exist_ok: bool = False) -> None:
    """No folder is made."""
    to_path(path)
    notice(NO_FILES)


def list_folder(path: Any = ".", *args: Any, **kwargs: Any) -> list[str]:
    """The files of a folder: there are none."""
    to_path(path)
    notice(NO_FILES)
    return []


def _walk(top: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
    return iter(list_folder(top))


def _missing_file(path: Any, *args: Any, **kwargs: Any) -> Any:
    """There are no files: raises FileNotFoundError."""
    raise missing(path)


class Path(StandIn):
    """`pathlib.Path`: the text of a path, its parts and its relatives; no file is behind it."""

    def __init__(self, *parts: Any) -> None:
        texts = list(map(to_path, parts))
        check_text_length(sum(map(len, texts)))
        self._path = pathlib.PurePosixPath(*texts)

    @staticmethod
    def _of(path: pathlib.PurePosixPath) -> Path:
        return Path(str(path))

    name = property(lambda self: self._path.name)
    stem = property(lambda self: self._path.stem)
    suffix = property(lambda self: self._path.suffix)
    suffixes = property(lambda self: self._path.suffixes)
    parts = property(lambda self: self._path.parts)
    root = property(lambda self: self._path.root)
    anchor = property(lambda self: self._path.anchor)
    parent = property(lambda self: Path._of(self._path.parent))
    parents = property(lambda self: tuple(map(Path._of, self._path.parents)))

    def joinpath(self, *parts: Any) -> Path:
        """This path, continued."""
        return Path(self, *parts)

    def with_name(self, name: str) -> Path:
        """The path with another last part."""
        return Path._of(self._path.with_name(to_path(name)))

    def with_stem(self, stem: str) -> Path:
        """The path with another last part before the suffix."""
        return Path._of(self._path.with_stem(to_path(stem)))

    def with_suffix(self, suffix: str) -> Path:
        """The path with another suffix."""
        return Path._of(self._path.with_suffix(to_path(suffix)))

    def relative_to(self, other: Any) -> Path:
        """The path from another one on."""
        return Path._of(self._path.relative_to(to_path(other)))

    def is_absolute(self) -> bool:
        """Whether it begins at the root."""
        return self._path.is_absolute()

    def as_posix(self) -> str:
        """Its text."""
        return str(self)

    def absolute(self) -> Path:
        """The path from the root on."""
        return Path(_absolute(str(self)))

    def resolve(self, strict: bool = False) -> Path:
        """The same as `absolute`."""
        return self.absolute()

    def expanduser(self) -> Path:
        """The path with the home folder in place of `~`."""
        return Path(_expanded(str(self)))

    def exists(self) -> bool:
        """Whether it exists: no path does."""
        return exists(self)

    def is_file(self) -> bool:
        """Whether it is a file: no path is."""
        return exists(self)

    def is_dir(self) -> bool:
        """Whether it is a folder: no path is."""
        return exists(self)

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """No folder is made."""
        make_folder(self)

    def iterdir(self) -> Iterator[Any]:
        """Its files: there are none."""
        return iter(list_folder(self))

    def glob(self, pattern: str) -> Iterator[Any]:
        """Its files: there are none."""
        return iter(list_folder(self))

    rglob = glob

    def open(self, *args: Any, **kwargs: Any) -> Any:
        """There are no files: raises FileNotFoundError."""
        raise missing(self)

    read_text = write_text = read_bytes = write_bytes = unlink = touch = stat = open

    def __truediv__(self, other: Any) -> Path:
        return Path(self, other)

    def __rtruediv__(self, other: Any) -> Path:
        return Path(other, self)

    def __str__(self) -> str:
        return str(self._path)

    def __repr__(self) -> str:
        return f"PosixPath({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return self._path == other._path if isinstance(other, Path) else NotImplemented

    def __lt__(self, other: Any) -> bool:
        return self._path < other._path if isinstance(other, Path) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._path)


_PATH = ClassProxy(Path, Path, {"cwd": lambda: Path(FOLDER), "home": lambda: Path(HOME)})
_PATH.__name__ = "PosixPath"

_PURE = "basename dirname splitext split normpath isabs splitdrive"
ADDED: dict[str, tuple[str, Any]] = {
    path: (TITLE, thing)
    for path, thing in {
        **{f"os.path.{name}": _of_paths(getattr(posixpath, name)) for name in _PURE.split()},
        "os.path.join": _of_paths(posixpath.join),
        "os.path.sep": posixpath.sep,
        "os.path.abspath": _of_paths(_absolute),
        "os.path.realpath": _of_paths(_absolute),
        "os.path.relpath": _of_paths(_relative),
        "os.path.expanduser": _of_paths(_expanded),
        "os.path.commonprefix": _of_list(posixpath.commonprefix),
        "os.path.commonpath": _of_list(posixpath.commonpath),
        **{f"os.path.{name}": exists for name in ("exists", "isfile", "isdir", "islink")},
        "os.path.getsize": _missing_file,
        "os.path.getmtime": _missing_file,
        "os.fspath": to_path,
        "os.getcwd": lambda: FOLDER,
        "os.makedirs": make_folder,
        "os.mkdir": make_folder,
        "os.chdir": make_folder,
        "os.listdir": list_folder,
        "os.walk": _walk,
        "os.remove": _missing_file,
        "os.unlink": _missing_file,
        "os.rename": _missing_file,
        "os.rmdir": _missing_file,
        "os.stat": _missing_file,
        "glob.glob": list_folder,
        "glob.iglob": _walk,
        "shutil.rmtree": make_folder,
        "shutil.copy": _missing_file,
        "shutil.copyfile": _missing_file,
        "shutil.move": _missing_file,
        "pathlib.Path": _PATH,
        "pathlib.PurePath": _PATH,
        "pathlib.PosixPath": _PATH,
    }.items()
}
