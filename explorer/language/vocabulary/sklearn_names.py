"""Small data sets of scikit-learn by its formulas, and what prepares and measures them.

Each function draws the same numbers as scikit-learn, in the same order, so that a seed gives the
same data (https://scikit-learn.org/stable/datasets/sample_generators.html); `train_test_split` with
`stratify` draws others.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from explorer.language.errors import OutsideLanguage
from explorer.language.notices import notice
from explorer.language.vocabulary.data_checks import require_numbers
from explorer.language.vocabulary.python_names import NUMPY_RANDOM
from explorer.language.vocabulary.sizes import check_bytes
from explorer.language.vocabulary.stand_in import StandIn


def _random(state: Any) -> np.random.RandomState:
    """The generator of `random_state`: the run's own if it is None."""
    return NUMPY_RANDOM if state is None else np.random.RandomState(int(state))


def _count(samples: Any, features: Any = 2) -> int:
    check_bytes(float(samples) * float(features), 16)
    if int(samples) < 1 or int(features) < 1:
        raise ValueError("n_samples and n_features must be at least 1")
    return int(samples)


def _array(data: Any) -> np.ndarray:
    """What a program passes as data, as an array of numbers."""
    if isinstance(data, torch.Tensor):
        data = data.detach().numpy()
    array = np.asarray(require_numbers(data))
    if array.dtype.kind not in "biufU":
        raise OutsideLanguage("Data must be numbers or text.", "Use lists, arrays or tensors.")
    return array


def _shuffled(random: np.random.RandomState, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    order = np.arange(len(arrays[0]))
    random.shuffle(order)
    return tuple(array[order] for array in arrays)


# -- data ------------------------------------------------------------------------------------------


def make_moons(
    n_samples: Any = 100, *, shuffle: bool = True, noise: Any = None, random_state: Any = None
) -> Any:
    """Two interleaving half circles: points (n, 2) and their classes."""
    outer, inner = _two_counts(n_samples)
    random = _random(random_state)
    a, b = np.linspace(0, np.pi, outer), np.linspace(0, np.pi, inner)
    x = np.append(np.cos(a), 1 - np.cos(b))
    y = np.append(np.sin(a), 1 - np.sin(b) - 0.5)
    return _two_classes(x, y, outer, inner, shuffle, noise, random)


def make_circles(
    n_samples: Any = 100, *, shuffle: bool = True, noise: Any = None, random_state: Any = None,
    factor: float = 0.8,
) -> Any:  # fmt: skip
    """A circle in a larger one: points (n, 2) and their classes."""
    outer, inner = _two_counts(n_samples)
    random = _random(random_state)
    a = np.linspace(0, 2 * np.pi, outer, endpoint=False)
    b = np.linspace(0, 2 * np.pi, inner, endpoint=False)
    x = np.append(np.cos(a), np.cos(b) * factor)
    y = np.append(np.sin(a), np.sin(b) * factor)
    return _two_classes(x, y, outer, inner, shuffle, noise, random)


def _two_counts(n_samples: Any) -> tuple[int, int]:
    if isinstance(n_samples, tuple):
        return _count(n_samples[0]), _count(n_samples[1])
    n = _count(n_samples)
    return n // 2, n - n // 2


def _two_classes(
    x: np.ndarray, y: np.ndarray, outer: int, inner: int, shuffle: bool, noise: Any,
    random: np.random.RandomState,
) -> Any:  # fmt: skip
    points = np.vstack([x, y]).T
    classes = np.hstack([np.zeros(outer, np.intp), np.ones(inner, np.intp)])
    if shuffle:
        points, classes = _shuffled(random, points, classes)
    if noise is not None:
        points += random.normal(scale=noise, size=points.shape)
    return points, classes


def make_blobs(
    n_samples: Any = 100, n_features: Any = 2, *, centers: Any = None, cluster_std: Any = 1.0,
    center_box: Any = (-10.0, 10.0), shuffle: bool = True, random_state: Any = None,
    return_centers: bool = False,
) -> Any:  # fmt: skip
    """Normally distributed points around several centres, and which centre each belongs to."""
    random, n = _random(random_state), _count(n_samples, n_features)
    if centers is None or isinstance(centers, int):
        box = float(center_box[0]), float(center_box[1])
        number = 3 if centers is None else _count(centers, n_features)
        places = random.uniform(*box, size=(number, int(n_features)))
    else:
        places = _array(centers).astype(float)
    deviations = np.broadcast_to(_array(cluster_std).astype(float), (len(places),))
    counts = [n // len(places) + (i < n % len(places)) for i in range(len(places))]
    points = np.concatenate([
        random.normal(loc=place, scale=deviation, size=(count, places.shape[1]))
        for place, deviation, count in zip(places, deviations, counts, strict=True)
    ])  # fmt: skip
    classes = np.repeat(np.arange(len(places)), counts)
    if shuffle:
        points, classes = _shuffled(random, points, classes)
    return (points, classes, places) if return_centers else (points, classes)


def make_regression(
    n_samples: Any = 100, n_features: Any = 100, *, n_informative: int = 10, n_targets: int = 1,
    bias: float = 0.0, noise: float = 0.0, shuffle: bool = True, coef: bool = False,
    random_state: Any = None,
) -> Any:  # fmt: skip
    """Normally distributed points, and a linear function of them with noise."""
    random, n = _random(random_state), _count(n_samples, n_features)
    features, used = int(n_features), min(int(n_features), int(n_informative))
    points = random.standard_normal(size=(n, features))
    truth = np.zeros((features, _count(n_targets, features)))
    truth[:used] = 100 * random.uniform(size=(used, truth.shape[1]))
    y = points @ truth + bias
    if noise > 0.0:
        y += random.normal(scale=noise, size=y.shape)
    if shuffle:
        points, y = _shuffled(random, points, y)
        order = np.arange(features)
        random.shuffle(order)
        points, truth = points[:, order], truth[order]
    y = np.squeeze(y)
    return (points, y, np.squeeze(truth)) if coef else (points, y)


# -- preparation -----------------------------------------------------------------------------------


def train_test_split(
    *arrays: Any, test_size: Any = None, train_size: Any = None, random_state: Any = None,
    shuffle: bool = True, stratify: Any = None,
) -> list[Any]:  # fmt: skip
    """Each array in two parts, for training and for testing, with the same rows."""
    n = len(arrays[0])
    if any(len(a) != n for a in arrays):
        raise ValueError("Found input variables with inconsistent numbers of samples")
    tests = _part(test_size, n, math.ceil)
    trains = _part(train_size, n, math.floor)
    if tests is None:
        tests = math.ceil(0.25 * n) if trains is None else n - trains
    trains = n - tests if trains is None else trains
    if min(trains, tests) < 1 or trains + tests > n:
        raise ValueError("train_size and test_size do not fit the number of samples")
    random = _random(random_state)
    if not shuffle:
        order = np.arange(n)
        first, second = order[:trains], order[trains : trains + tests]
    elif stratify is None:
        order = random.permutation(n)
        first, second = order[tests : tests + trains], order[:tests]
    else:
        first, second = _stratified(_array(stratify), tests, random)
    return [part for array in arrays for part in (_rows(array, first), _rows(array, second))]


def _part(size: Any, n: int, rounded: Any) -> int | None:
    if size is None or isinstance(size, int):
        return size
    return int(rounded(float(size) * n))


def _stratified(
    classes: np.ndarray, tests: int, random: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """The same share of each class in both parts. scikit-learn draws other rows."""
    notice("train_test_split(stratify=…) keeps the shares, but draws other rows than scikit-learn.")
    first, second = [], []
    for kind in np.unique(classes):
        rows = random.permutation(np.flatnonzero(classes == kind))
        count = round(tests * len(rows) / len(classes))
        second.append(rows[:count])
        first.append(rows[count:])
    return random.permutation(np.concatenate(first)), random.permutation(np.concatenate(second))


def _rows(array: Any, rows: np.ndarray) -> Any:
    if isinstance(array, list | tuple):
        return [array[i] for i in rows]
    if isinstance(array, torch.Tensor):
        return array[torch.from_numpy(rows)]
    return _array(array)[rows]


class _Scaler(StandIn):
    """Columns moved and divided: x becomes (x - offset) / scale."""

    def __init__(self) -> None:
        self._offset, self._divisor = np.zeros(1), np.ones(1)

    def fit(self, X: Any, y: Any = None) -> _Scaler:
        """Find offset and scale of each column."""
        self._measure(_array(X).astype(float))
        self._divisor = np.where(self._divisor == 0, 1.0, self._divisor)
        return self

    def _measure(self, data: np.ndarray) -> None:
        raise NotImplementedError

    def transform(self, X: Any) -> np.ndarray:
        """Scale the columns."""
        return (_array(X) - self._offset) / self._divisor

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Find offset and scale, and apply them."""
        return self.fit(X).transform(X)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Undo the scaling."""
        return _array(X) * self._divisor + self._offset


class StandardScaler(_Scaler):
    """Columns with mean 0 and standard deviation 1."""

    def __init__(self, *, copy: Any = True, with_mean: Any = True, with_std: Any = True) -> None:
        super().__init__()
        self.with_mean, self.with_std = bool(with_mean), bool(with_std)

    def _measure(self, data: np.ndarray) -> None:
        self.mean_, self.var_ = data.mean(0), data.var(0)
        self._offset = self.mean_.copy() if self.with_mean else np.zeros(1)
        self._divisor = data.std(0) if self.with_std else np.ones(1)

    @property
    def scale_(self) -> np.ndarray | None:
        """The standard deviation of each column."""
        return self._divisor.copy() if self.with_std else None


class MinMaxScaler(_Scaler):
    """Columns from 0 to 1, or in another range."""

    def __init__(self, feature_range: Any = (0, 1), *, copy: Any = True, clip: Any = False) -> None:
        super().__init__()
        self._low, self._high = map(float, feature_range)
        self.clip = bool(clip)

    def transform(self, X: Any) -> np.ndarray:
        """Scale the columns."""
        scaled = super().transform(X)
        return scaled.clip(self._low, self._high) if self.clip else scaled

    def _measure(self, data: np.ndarray) -> None:
        self.data_min_, self.data_max_ = data.min(0), data.max(0)
        width = self.data_max_ - self.data_min_
        self._divisor = np.where(width == 0, 1.0, width) / (self._high - self._low)
        self._offset = self.data_min_ - self._low * self._divisor


# -- measures --------------------------------------------------------------------------------------


def accuracy_score(y_true: Any, y_pred: Any, *, normalize: bool = True) -> float:
    """The share of right answers."""
    right = _array(y_true) == _array(y_pred)
    return float(right.mean() if normalize else right.sum())


def confusion_matrix(y_true: Any, y_pred: Any) -> np.ndarray:
    """How often each class (row) was taken for each (column)."""
    true, predicted = _array(y_true), _array(y_pred)
    labels = np.unique(np.concatenate([true, predicted]))
    check_bytes(float(len(labels)) ** 2, 8)
    matrix = np.zeros((len(labels), len(labels)), int)
    np.add.at(matrix, (np.searchsorted(labels, true), np.searchsorted(labels, predicted)), 1)
    return matrix


def mean_squared_error(y_true: Any, y_pred: Any) -> float:
    """The mean of the squared differences."""
    return float(np.mean((_array(y_true) - _array(y_pred)) ** 2))


def mean_absolute_error(y_true: Any, y_pred: Any) -> float:
    """The mean of the differences without their signs."""
    return float(np.mean(np.abs(_array(y_true) - _array(y_pred))))


def r2_score(y_true: Any, y_pred: Any) -> float:
    """The share of the variance that is explained."""
    true, predicted = _array(y_true), _array(y_pred)
    return float(1 - ((true - predicted) ** 2).sum() / ((true - true.mean(0)) ** 2).sum())


_HOMES: dict[str, tuple[Any, ...]] = {
    "datasets": (make_moons, make_circles, make_blobs, make_regression),
    "model_selection": (train_test_split,),
    "preprocessing": (StandardScaler, MinMaxScaler),
    "metrics": (
        accuracy_score, confusion_matrix, mean_squared_error, mean_absolute_error, r2_score,
    ),
}  # fmt: skip
ADDED: dict[str, tuple[str, Any]] = {
    f"sklearn.{home}.{thing.__name__}": ("Data of scikit-learn", thing)
    for home, things in _HOMES.items()
    for thing in things
}
