"""A description of the machine, without anything that identifies its owner."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_LIBRARIES = (
    "torch", "torchvision", "numpy", "streamlit", "matplotlib", "pillow", "torchviz",
    "torchinfo", "torchview", "torchlens", "torchvista", "captum", "playwright",
)  # fmt: skip
_PROGRAMS = {"Graphviz": ["dot", "-V"], "Chromium": ["chromium", "--version"]}


def describe_machine() -> dict[str, str]:
    """Property -> value."""
    facts = {
        "Processor": f"{_processor()}, {os.cpu_count()} cores",
        "Memory": f"{_memory():.0f} GB",
        "System": _system(),
        "Python": platform.python_version(),
        "Libraries": ", ".join(filter(None, map(_library, _LIBRARIES))),
        "Programs": ", ".join(_program(name, command) for name, command in _PROGRAMS.items()),
    }
    if hasattr(os, "getloadavg"):
        facts["Load before the start"] = f"{os.getloadavg()[0]:.1f} processes"
    return facts


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _memory() -> float:
    """In GB; NaN if the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    except (AttributeError, ValueError, OSError):
        return float("nan")


def _system() -> str:
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        name = platform.system()
    return f"{name}, kernel {platform.release().split('-')[0]}"


def _library(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return ""


def _program(name: str, command: list[str]) -> str:
    if shutil.which(command[0]) is None:
        return f"no {name}"
    done = subprocess.run(command, capture_output=True, text=True)
    text = (done.stdout or done.stderr).strip()
    number = next((word for word in text.split() if word[:1].isdigit()), "")
    return f"{name} {number}".strip()
