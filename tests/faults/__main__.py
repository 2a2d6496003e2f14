"""`python -m tests.faults`: the named faults of the guard, one line each; test_guard.py reads it.

`python -m tests.faults guard.attributes vocabulary.data_checks …` tries every small fault of these
modules of explorer/language instead, against the whole corpus but the slow groups: minutes.
"""

from __future__ import annotations

import sys

from tests.faults import guarded
from tests.faults.changed import path_of, replaced
from tests.faults.guard_faults import FAULTS
from tests.faults.guarded import GOOD, Address, broken, outcomes
from tests.faults.mutate import faults

PACKAGE = "explorer.language"
#: Groups of the corpus that the long mode runs, the ones that notice most first.
SWEPT = ("good", "python", "torch", "parser", "reentrant")


def named() -> None:
    """A line for each fault: noticed, or how its program ended; "sound" is no fault at all."""
    texts = guarded.programs()
    where: dict[str, list[Address]] = {
        name: [address for address, text in texts.items() if fault.program in text]
        for name, fault in FAULTS.items()
    }
    used = sorted({address for found in where.values() for address in found})
    wrong = {a: end for a, end in outcomes(None, [GOOD, *used]).items() if broken(a, end)}
    print(f"sound\t{wrong or 'noticed by none'}", flush=True)
    for name, fault in FAULTS.items():
        module = f"{PACKAGE}.{fault.module}"
        found = outcomes((module, replaced(module, fault.old, fault.new)), where[name], first=True)
        noticed = any(broken(a, end) for a, end in found.items() if "import" not in found)
        print(f"{name}\t{'noticed' if noticed else found}", flush=True)


def swept(modules: list[str]) -> None:
    """A line for each small fault of the modules."""
    score: dict[Address, int] = {}
    order = sorted(
        (a for a in guarded.programs() if a[0] in SWEPT), key=lambda a: SWEPT.index(a[0])
    )
    for module in modules:
        full = f"{PACKAGE}.{module}"
        for what, text in faults(path_of(full).read_text()):
            order.sort(key=lambda a: -score.get(a, 0))
            found = outcomes((full, text), order, first=True)
            by = next((a for a, end in found.items() if "import" in found or broken(a, end)), None)
            if by is not None:
                score[by] = score.get(by, 0) + 1
            said = "SURVIVED" if by is None else f"noticed {by} {found[by][:60]!r}"
            print(f"{module}:{what} => {said}", flush=True)


if __name__ == "__main__":
    guarded.warm()
    if sys.argv[1:]:
        swept(sys.argv[1:])
    else:
        named()
