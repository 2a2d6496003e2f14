"""Progress bars, in place of tqdm's: what they loop over, without a bar."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from explorer.language.notices import running
from explorer.language.vocabulary.stand_in import StandIn


class ProgressBar(StandIn):
    """What `tqdm(items)` returns: a loop over it is one over the items."""

    def __init__(self, iterable: Any = None, desc: Any = None, total: Any = None, **options: Any):
        self._items = () if iterable is None else iterable
        self.n, self.desc = 0, desc
        self.total = total if type(total) is int else None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return self.total if self.total is not None else len(self._items)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *error: Any) -> None:
        """Of no effect."""

    def update(self, n: Any = 1) -> None:
        self.n = self.n + n if type(n) in (int, float) else self.n

    def set_description(self, desc: Any = None, refresh: Any = True) -> None:
        """Of no effect: no bar is shown."""

    def set_description_str(self, desc: Any = None, refresh: Any = True) -> None:
        """Of no effect."""

    def set_postfix(self, ordered_dict: Any = None, refresh: Any = True, **values: Any) -> None:
        """Of no effect."""

    def set_postfix_str(self, s: Any = "", refresh: Any = True) -> None:
        """Of no effect."""

    def refresh(self, **options: Any) -> None:
        """Of no effect."""

    def reset(self, total: Any = None) -> None:
        self.n = 0

    def close(self) -> None:
        """Of no effect."""

    def clear(self, **options: Any) -> None:
        """Of no effect."""

    def display(self, **options: Any) -> None:
        """Of no effect."""

    def write(self, s: Any, file: Any = None, end: Any = "\n", nolock: Any = False) -> None:
        write(s, end)


class ProgressBars(StandIn):
    """`tqdm` itself: called, it returns a ProgressBar."""

    def __call__(self, iterable: Any = None, *args: Any, **options: Any) -> ProgressBar:
        names = ("desc", "total")
        return ProgressBar(iterable, **(dict(zip(names, args, strict=False)) | options))

    def write(self, s: Any, file: Any = None, end: Any = "\n", nolock: Any = False) -> None:
        write(s, end)

    def pandas(self, *args: Any, **options: Any) -> None:
        """Of no effect."""


def write(text: Any, end: Any = "\n") -> None:
    """Print a text, as `tqdm.write` does."""
    from explorer.language.guard import formatting  # which imports the vocabulary

    program = running()
    if program is not None:
        parts = formatting.to_text(text, str), formatting.to_text(end, str)
        program.write(formatting.without_addresses("".join(parts)))


def trange(*args: Any, **options: Any) -> ProgressBar:
    """`tqdm(range(…))`."""
    return ProgressBar(range(*args), **options)


_TITLE, _TQDM = "Notebooks", ProgressBars()
ADDED: dict[str, tuple[str, Any]] = {
    **{
        f"{home}.{name}": (_TITLE, thing)
        for home in ("tqdm", "tqdm.auto", "tqdm.notebook", "tqdm.autonotebook", "tqdm.std")
        for name, thing in (("tqdm", _TQDM), ("trange", trange))
    },
    "tqdm.tqdm_notebook": (_TITLE, _TQDM),
    "tqdm.tnrange": (_TITLE, trange),
}
