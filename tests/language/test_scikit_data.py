"""Data sets of scikit-learn, numpy's polynomials, storages, `Tensor.new` and graphviz."""

from __future__ import annotations

import numpy as np

from explorer.language import Environment, Program, Watcher, isolated
from tests.language.compare import compare, guarded, refusal


def test_the_irises() -> None:
    _, names = guarded(
        """
from sklearn import datasets, preprocessing
iris = datasets.load_iris()
data, target = iris.data, iris["target"]
unit = preprocessing.normalize(data[:, :2])
X, y = datasets.load_iris(return_X_y=True)
"""
    )
    data, target = names["data"], names["target"]
    assert data.shape == (150, 4)
    assert data[0].tolist() == [5.1, 3.5, 1.4, 0.2]
    # published means of each measure, and of the petal lengths of each species
    np.testing.assert_allclose(data.mean(0), [5.843333, 3.057333, 3.758, 1.199333], atol=1e-6)
    means = [data[target == k, 2].mean() for k in range(3)]
    np.testing.assert_allclose(means, [1.462, 4.26, 5.552], atol=1e-9)
    np.testing.assert_allclose((names["unit"] ** 2).sum(1), 1.0)
    np.testing.assert_array_equal(names["X"], data)


def test_documents_of_several_classes() -> None:
    """The first numbers of scikit-learn 1.9 for this seed."""
    _, names = guarded(
        """
from sklearn.datasets import make_multilabel_classification
X, y = make_multilabel_classification(n_samples=4, n_features=6, n_classes=3, random_state=1)
"""
    )
    assert names["X"].tolist() == EXPECTED_X
    assert names["y"].tolist() == EXPECTED_Y


EXPECTED_X = [
    [6.0, 9.0, 7.0, 7.0, 6.0, 4.0],
    [5.0, 10.0, 13.0, 23.0, 13.0, 2.0],
    [10.0, 3.0, 7.0, 14.0, 10.0, 7.0],
    [7.0, 8.0, 7.0, 6.0, 10.0, 3.0],
]
EXPECTED_Y = [[0, 0, 0], [0, 1, 0], [0, 0, 0], [1, 1, 0]]


def test_made_up_data_are_called_that() -> None:
    watcher = Watcher()
    with isolated(0):
        Environment(watcher).run(
            Program(
                "from sklearn.datasets import load_breast_cancer\n"
                "d = load_breast_cancer()\n"
                "print(d.data.shape, set(d.target.tolist()), d.target_names)\n"
            )
        )
    assert watcher.output == "(569, 30) {0, 1} ['malignant' 'benign']\n"
    (sentence,) = watcher.notices.sentences()
    assert "made-up numbers" in sentence
    assert "(line 2)" in sentence


def test_polynomials() -> None:
    compare(
        """
import numpy as np
x = np.arange(5.0)
p = np.poly1d(np.polyfit(x, x**2 + 1, 2).round(6))
print(p(3.0), p(x), p.order, p.coeffs, p.deriv()(2.0), p[2])
print(np.poly1d([1.0, 2.0]))
print(np.poly1d([2.0, 1.0], True).c)
"""
    )
    assert "1d" in str(refusal("import numpy as np\nnp.poly1d([[1.0]])").detail)


def test_storages() -> None:
    compare(
        """
import torch
a = torch.arange(6.0).reshape(2, 3)
print(a.storage().tolist(), len(a.t().storage()), a[1].storage()[0])
"""
    )


def test_new_tensors_of_the_same_kind() -> None:
    compare(
        """
import numpy as np
import torch
x = torch.ones(2, dtype=torch.float64)
a = np.ones((2, 2), dtype=np.float32)
y = x.new(a)
a[0] = 5
print(y, x.new([1, 2]), x.new().shape)
"""
    )
    assert refusal("import torch\nprint(torch.ones(2).new(3))").hint == "Use new_zeros."


def test_drawings_of_graphviz() -> None:
    output, _ = guarded(
        """
from graphviz import Digraph
dot = Digraph(format="svg", graph_attr={"rankdir": "LR"})
dot.node(name="a", label="x")
dot.edge("a", "b")
dot.attr(size="3")
print(dot.render("g") == "")
"""
    )
    assert output == "True\n"
