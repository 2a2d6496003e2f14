"""Numbers and names as they are shown."""

from __future__ import annotations


def format_number(value: float | complex) -> str:
    """Six significant digits with proper minus signs: "−0.0782", "1.2e−05", "20". A browser breaks
    a line after a hyphen, not after a minus sign."""
    return f"{value:.6g}".replace("-", "−")


def format_short(value: float) -> str:
    """Three significant digits, with the exponent as the pictures write it: "−2.54e20"."""
    return format_number(float(f"{value:.3g}")).replace("e+0", "e").replace("e+", "e")


def element_name(name: str, index: tuple[int, ...]) -> str:
    """How an element is written: "w[0, 1]", or just "x" for a tensor without axes."""
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def pluralize(number: int, noun: str) -> str:
    """ "1 parameter", "2 parameters"."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"
