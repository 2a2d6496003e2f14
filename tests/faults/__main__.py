"""`python -m tests.faults` tries the named faults of the guard and prints a line for each.

test_guard.py reads these lines. `python -m tests.faults guard.attributes vocabulary.data_checks …`
tries every small fault of these modules of explorer/language instead, against the fast groups of
hostile programs. This takes minutes.
"""

from __future__ import annotations

import sys

from tests.faults import ours
from tests.faults.changed import path_of, replaced
from tests.faults.guard_faults import FAULTS
from tests.faults.mutate import faults
from tests.faults.ours import GOOD, Address, broken, outcomes

PACKAGE = "explorer.language"
#: The verdict on a fault that lets something through, which then may not reach the program.
HARMLESS = "noticed where every value is admitted"
#: Groups of hostile programs for whole modules; those that notice most come first.
FAST_GROUPS = ("good", "python", "torch", "parser", "reentrant")


def try_named_faults() -> None:
    """Print a line for each fault: noticed, or how its program ended. "sound" has no fault."""
    texts = ours.programs()
    programs_of: dict[str, list[Address]] = {
        name: [address for address, text in texts.items() if fault.program in text]
        for name, fault in FAULTS.items()
    }
    used = sorted({address for addresses in programs_of.values() for address in addresses})
    wrong = {a: end for a, end in outcomes(None, [GOOD, *used]).items() if broken(a, end)}
    print(f"sound\t{wrong or 'noticed by none'}", flush=True)
    for name, fault in FAULTS.items():
        module = f"{PACKAGE}.{fault.module}"
        changed = module, replaced(module, fault.old, fault.new)
        print(f"{name}\t{_verdict(changed, programs_of[name])}", flush=True)


def _verdict(changed: tuple[str, str], addresses: list[Address]) -> str:
    results: dict[Address, str] = {}
    for verdict, admit_all in (("noticed", False), (HARMLESS, True)):
        results = outcomes(changed, addresses, first=True, admit_all=admit_all)
        if any(broken(a, end) for a, end in results.items() if "import" not in results):
            return verdict
    return str(results)


def try_all_faults(modules: list[str]) -> None:
    """Print a line for each small fault of the modules."""
    score: dict[Address, int] = {}
    order = sorted(
        (a for a in ours.programs() if a[0] in FAST_GROUPS),
        key=lambda a: FAST_GROUPS.index(a[0]),
    )
    for module in modules:
        full = f"{PACKAGE}.{module}"
        for what, text in faults(path_of(full).read_text()):
            order.sort(key=lambda a: -score.get(a, 0))
            results = outcomes((full, text), order, first=True)
            noticed = (a for a, end in results.items() if "import" in results or broken(a, end))
            by = next(noticed, None)
            if by is not None:
                score[by] = score.get(by, 0) + 1
            verdict = "SURVIVED" if by is None else f"noticed {by} {results[by][:60]!r}"
            print(f"{module}:{what} => {verdict}", flush=True)


if __name__ == "__main__":
    ours.warm()
    if sys.argv[1:]:
        try_all_faults(sys.argv[1:])
    else:
        try_named_faults()
