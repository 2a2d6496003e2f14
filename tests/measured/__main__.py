"""Run all tests, or those named, under coverage.py, including the sandbox's processes, and report.

`python -m tests.measured tests/trace` and then `python -m tests.measured --add tests/ui` measures
in parts. The report is by package; `python -m coverage report -m` shows every line.
"""

import os
import shutil
import subprocess
import sys
from collections import defaultdict

import coverage
from coverage.results import Numbers

from tests.measured.sitecustomize import FOLDER, ROOT

HOOK = ROOT / "tests" / "measured"


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--add"]:
        arguments = arguments[1:]
    else:
        for old in ROOT.glob(".coverage*"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    FOLDER.mkdir(exist_ok=True)
    paths = [str(HOOK), *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-m", "coverage", "run", "-m", "pytest", *arguments]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    status = subprocess.run(command, cwd=ROOT, env=environment).returncode
    add_sandbox_data()
    subprocess.run([sys.executable, "-m", "coverage", "combine", "-q", "--append"], cwd=ROOT)
    print_report()
    return status


def add_sandbox_data() -> None:
    """Write the measurements from the files that the sandbox's processes mapped as a data file."""
    data = coverage.CoverageData(basename=str(ROOT / ".coverage"), suffix="sandbox")
    for file in FOLDER.iterdir():
        content = file.read_bytes()
        size = int.from_bytes(content[:8], "big")
        if size:
            part = coverage.CoverageData(no_disk=True)
            part.loads(content[8 : 8 + size])
            data.update(part)
        file.unlink()
    data.write()


def print_report() -> None:
    measured = coverage.Coverage()
    measured.load()
    totals: dict[str, Numbers] = defaultdict(Numbers)
    for file in filter(os.path.exists, measured.get_data().measured_files()):
        parts = os.path.relpath(file, ROOT).split(os.sep)
        if parts[0] not in ("app.py", "pages", "explorer"):
            continue
        package = "/".join(parts[:2]) if parts[0] == "explorer" and len(parts) > 2 else parts[0]
        numbers = measured._analyze(file).numbers
        totals[package] += numbers
        totals["all"] += numbers
    print("| | lines | not run | branches | partly taken | covered |\n|---|--:|--:|--:|--:|--:|")
    for package, n in sorted(totals.items()):
        print(
            f"| {package} | {n.n_statements} | {n.n_missing} | {n.n_branches} "
            f"| {n.n_partial_branches} | {n.pc_covered:.1f} % |"
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
