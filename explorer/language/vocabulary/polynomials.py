"""`numpy.poly1d`: a polynomial with its coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.language.vocabulary.data_checks import require_numbers
from explorer.language.vocabulary.sizes import check_bytes
from explorer.language.vocabulary.stand_in import StandIn

#: The highest power.
_MOST = 1000


class Polynomial(StandIn):
    """A polynomial that can be called, printed and differentiated."""

    def __init__(self, c_or_r: Any, r: bool = False, variable: Any = None) -> None:
        numbers = np.atleast_1d(np.asarray(require_numbers(c_or_r)))
        if numbers.ndim != 1 or numbers.dtype.kind not in "biufc" or len(numbers) > _MOST:
            raise ValueError("Polynomial must be 1d only.")
        self._real = np.poly1d(np.poly(numbers) if r else numbers)

    def __call__(self, val: Any) -> Any:
        values = np.asarray(require_numbers(val))
        check_bytes(values.size, 16)
        return np.polyval(self._real.coeffs, values)

    @property
    def coeffs(self) -> np.ndarray:
        return np.array(self._real.coeffs)

    c = coef = coefficients = coeffs

    @property
    def order(self) -> int:
        return int(self._real.order)

    o = order

    @property
    def roots(self) -> np.ndarray:
        return np.array(self._real.roots)

    r = roots

    def deriv(self, m: int = 1) -> Polynomial:
        return Polynomial(self._real.deriv(int(m)).coeffs)

    def __getitem__(self, power: Any) -> Any:
        return self._real[int(power)]

    def __len__(self) -> int:
        return self.order

    def __str__(self) -> str:
        return str(self._real)

    def __repr__(self) -> str:
        return repr(self._real)


ADDED: dict[str, tuple[str, Any]] = {"numpy.poly1d": ("numpy: reducing", Polynomial)}
