r"""The rules' LaTeX as plain text, for the edge of a graph: `\frac{1}{2 \cdot y}` is "1/(2·y)"."""

from __future__ import annotations

import re

_SIGNS = {
    "cdot": "·", "odot": "·", "times": "×", "star": "⋆", "le": "≤", "ge": "≥", "ne": "≠", "pm": "±",
    "lnot": "¬", "infty": "∞", "sum": "Σ", "ldots": "…", "lfloor": "⌊", "rfloor": "⌋", "pi": "π",
    "partial": "∂", "sigma": "σ", "Phi": "Φ", "varphi": "φ", "psi": "ψ", "omega": "ω", "gamma": "γ",
    "alpha": "α", "top": "ᵀ", "left": "", "right": "", "textstyle": "",
}  # fmt: skip
_OVER = {"bar": "\u0304", "overline": "\u0304", "hat": "\u0302"}  # combining marks
_RAISED = str.maketrans("0123456789+-−ᵀ", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻ᵀ")
#: What may be raised, character by character.
_RAISABLE = re.compile(r"[0-9+\-−ᵀ]+")
_TOKEN = re.compile(r"\\([a-zA-Z]+)|\\(.)|([{}^_])|( \* )|(.)", re.DOTALL)
#: Characters from here on, which Unicode leaves to private use, stand for names and numbers.
PRIVATE = 0xE000
_PRODUCT = re.compile(r"[\w.·\ue000-\uf8ff]+")
#: What stands below or above a fraction's line without parentheses.
_SIMPLE = re.compile(r"[\w.\ue000-\uf8ff⁰-⁹²³̂̄]+|[\w]*\([^()]*\)|√\([^()]*\)")


def plain(tex: str) -> str:
    """Plain text for a formula of the rules."""
    return re.sub(r" +", " ", _Reader(tex).until("")).strip()


class _Reader:
    def __init__(self, tex: str) -> None:
        self.tokens = _TOKEN.findall(tex)
        self.place = 0

    def until(self, end: str) -> str:
        """The text up to this brace, or to the end."""
        text = ""
        while self.place < len(self.tokens):
            command, escaped, brace, times, other = self.tokens[self.place]
            self.place += 1
            if brace and brace == end:
                break
            if command:
                text += self._command(command)
            elif brace == "^":
                text += raised(self._argument())
            elif brace == "_":
                index = self._argument()
                text += f" over {index} of" if text.endswith("Σ") else f"_{index}"
            elif brace == "{":
                text += self.until("}")
            else:
                text += "·" if times else " " if escaped else other
        return text

    def _argument(self) -> str:
        """What a command or a sign takes: a group in braces, or one token."""
        while self.place < len(self.tokens) and self.tokens[self.place][4] == " ":
            self.place += 1
        command, _, brace, _, other = self.tokens[self.place]
        self.place += 1
        if brace == "{":
            return self.until("}")
        return self._command(command) if command else other

    def _command(self, name: str) -> str:
        if name in ("frac", "tfrac"):
            above = self._argument().strip()
            product = above if _PRODUCT.fullmatch(above) else _grouped(above)
            return f"{product}/{_grouped(self._argument())}"
        if name == "sqrt":
            return f"√({self._argument()})"
        if name in ("text", "operatorname", "mathbf"):
            return self._argument()
        if name in _OVER:
            return self._argument() + _OVER[name]
        if name == "underset":
            shape = self._argument()
            return f"{self._argument()} ({shape})"
        return _SIGNS.get(name, name)  # a function: cos, ln, …


def _grouped(text: str) -> str:
    text = text.strip()
    return text if _SIMPLE.fullmatch(text) else f"({text})"


def raised(text: str) -> str:
    """An exponent."""
    return text.translate(_RAISED) if _RAISABLE.fullmatch(text) else f"^{_grouped(text)}"
