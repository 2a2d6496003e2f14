"""Data sets that scikit-learn keeps in files: Fisher's irises, and made-up numbers for others."""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.language.errors import OutsideLanguage
from explorer.language.notices import notice
from explorer.language.vocabulary.sizes import check_bytes
from explorer.language.vocabulary.sklearn_names import _array, _count, _random
from explorer.language.vocabulary.stand_in import StandIn

#: Length and width of sepal and petal in millimetres, two digits each: 50 flowers of each species
#: (R. A. Fisher, "The use of multiple measurements in taxonomic problems", 1936).
_IRISES = """
    51351402493014024732130246311502503614025439170446341403503415024429140249311501
    54371502483416024830140143301101584012025744150454391304513514035738170351381503
    54341702513715044636100251331705483419025030160250341604523515025234140247321602
    48311602543415045241150155421402493115025032120255351302493614014430130251341502
    50351303452313034432130250351606513819044830140351381602463214025337150250331402
    70324714643245156931491555234013652846155728451363334716492433106629461352273914
    50203510593042156022401061294714562936136731441456304515582741106222451556253911
    59324818612840136325491561284712642943136630441468284814673050176029451557263510
    55243811552437105827391260275116543045156034451667314715632344135630411355254013
    55264412613046145826401250233310562742135730421257294213622943135125301157284113
    63336025582751197130592163295618653058227630662149254517732963186725581872366125
    65325120642753196830552157255020582851246432532365305518773867227726692360225015
    69325723562849207728672063274918673357217232601862284818613049186428562172305816
    74286119793864206428562263285115612656147730612363345624643155186030481869315421
    67315624693151235827511968325923673357256730522363255019653052206234542359305118
"""
_IRIS_NAMES = [f"{part} {side} (cm)" for part in ("sepal", "petal") for side in ("length", "width")]


class Bunch(StandIn):
    """A data set: its parts are attributes and items."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)

    def __getitem__(self, name: Any) -> Any:
        if name not in self.__dict__:
            raise KeyError(name)
        return self.__dict__[name]

    def keys(self) -> list[str]:
        return list(self.__dict__)


def _bunch(
    data: np.ndarray, target: np.ndarray, names: list[str], classes: list[str], pair: Any,
    as_frame: Any,
) -> Any:  # fmt: skip
    if as_frame:
        raise OutsideLanguage("Tables of pandas are not available here.", "Leave as_frame= out.")
    if pair:
        return data, target
    return Bunch(
        data=data, target=target, frame=None, feature_names=names,
        target_names=np.array(classes), DESCR="",
    )  # fmt: skip


def load_iris(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Fisher's irises: 150 flowers of 3 species with 4 measures each."""
    digits = "".join(_IRISES.split())
    data = np.array([int(digits[i : i + 2]) for i in range(0, 1200, 2)]).reshape(150, 4) / 10
    species = ["setosa", "versicolor", "virginica"]
    return _bunch(data, np.repeat(np.arange(3), 50), _IRIS_NAMES, species, return_X_y, as_frame)


def _maker(name: str, samples: int, features: int, classes: list[str]) -> Any:
    def load(*, return_X_y: bool = False, as_frame: bool = False, **options: Any) -> Any:
        notice("The data sets of scikit-learn except the irises are made-up numbers here.")
        random = np.random.RandomState(0)
        target = random.randint(max(len(classes), 2), size=samples)
        centres = random.uniform(2, 10, size=(target.max() + 1, features))
        data = random.normal(centres[target], 2.0)
        names = [f"feature {i}" for i in range(features)]
        values = target if classes else 25.0 + 200 * random.uniform(size=samples)
        return _bunch(data, values, names, classes, return_X_y, as_frame)

    load.__name__ = name
    load.__doc__ = f"Made-up numbers: {samples} samples with {features} features each."
    return load


def make_multilabel_classification(
    n_samples: Any = 100, n_features: Any = 20, *, n_classes: Any = 5, n_labels: Any = 2,
    length: Any = 50, allow_unlabeled: bool = True, random_state: Any = None,
) -> Any:  # fmt: skip
    """Counts of words in documents that belong to several classes each."""
    random, n = _random(random_state), _count(n_samples, n_features)
    features, classes = int(n_features), _count(n_classes, n_features)
    check_bytes(float(n) * (float(length) + float(n_labels) + classes), 1000)
    if not (0 < length <= 10_000 and 0 < n_labels <= classes):
        raise ValueError("length and n_labels must be positive, n_labels at most n_classes")
    share = random.uniform(size=classes)
    share /= share.sum()
    words_of_class = random.uniform(size=(features, classes))
    words_of_class /= words_of_class.sum(axis=0)
    counts, labels = np.zeros((n, features)), np.zeros((n, classes), dtype=int)
    for row in range(n):
        number = classes + 1
        while (not allow_unlabeled and number == 0) or number > classes:
            number = random.poisson(n_labels)
        chosen: set[Any] = set()
        while len(chosen) != number:
            drawn = random.uniform(size=number - len(chosen))
            chosen.update(np.searchsorted(np.cumsum(share), drawn))
        many = 0
        while many == 0:
            many = random.poisson(length)
        if chosen:
            total = words_of_class.take(list(chosen), axis=1).sum(axis=1).cumsum()
            words = np.searchsorted(total / total[-1], random.uniform(size=many))
        else:
            words = random.randint(features, size=many)
        np.add.at(counts[row], words, 1)
        labels[row, [int(label) for label in chosen]] = 1
    return counts, labels


def normalize(X: Any, norm: str = "l2", *, axis: int = 1) -> np.ndarray:
    """Rows (or columns, with axis=0) divided by their norm."""
    data = _array(X).astype(float)
    power = {"l1": 1, "l2": 2, "max": np.inf}[norm]
    norms = np.linalg.norm(data, ord=power, axis=int(axis), keepdims=True)
    return data / np.where(norms == 0, 1.0, norms)


_TITLE = "Data of scikit-learn"
ADDED: dict[str, tuple[str, Any]] = {
    "sklearn.datasets.load_iris": (_TITLE, load_iris),
    "sklearn.datasets.make_multilabel_classification": (_TITLE, make_multilabel_classification),
    "sklearn.preprocessing.normalize": (_TITLE, normalize),
    **{
        f"sklearn.datasets.{name}": (_TITLE, _maker(name, samples, features, classes.split()))
        for name, samples, features, classes in (
            ("load_breast_cancer", 569, 30, "malignant benign"),
            ("load_wine", 178, 13, "class_0 class_1 class_2"),
            ("load_digits", 1797, 64, "0 1 2 3 4 5 6 7 8 9"),
            ("load_diabetes", 442, 10, ""),
        )
    },
}
