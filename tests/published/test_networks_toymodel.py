"""The gradient norms and histograms published for ToyModel."""

import numpy as np
import pytest

from explorer.networks import accumulate, histogram, inspect, problem
from explorer.networks.health import find_health

PARAMETERS = ("conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias", "fc.weight")
NORMS = {
    10: (0.147315, 0.167138, 0.920320, 0.544210, 1.725822),
    20: (0.034993, 0.038014, 0.207292, 0.126169, 0.399132),
    30: (0.078125, 0.088333, 0.490127, 0.287542, 0.916894),
    40: (0.145300, 0.165120, 0.919073, 0.539893, 1.726549),
}
HISTOGRAMS = {
    "conv1.weight": ("4 2 13 27 76 22 11 5 1 1", -0.036256, 0.045581),
    "conv1.bias": ("1 2 0 0 1 0 1 0 0 1", -0.028756, 0.133617),
    "conv2.weight": ("15 10 35 245 1828 970 230 68 40 15", -0.076537, 0.081974),
    "conv2.bias": ("1 0 1 8 12 28 5 6 0 3", -0.210875, 0.200775),
    "fc.weight": ("1 7 11 12 33 33 12 11 7 1", -0.419668, 0.419668),
}


@pytest.fixture(scope="module")
def steps():
    return list(accumulate(problem("ToyModel"), 40, every=10, lr=1e-3))


@pytest.mark.parametrize("sample", NORMS)
def test_norms_after_every_ten_samples(steps, sample):
    step = steps[sample - 1]
    assert step.stepped
    assert tuple(step.norms) == PARAMETERS  # tmp has none
    assert tuple(step.norms.values()) == pytest.approx(NORMS[sample], rel=1e-4)


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_histograms_of_the_last_gradients(steps, name):
    counts, first, last = HISTOGRAMS[name]
    bars = histogram(steps[-1].gradients[name])
    assert list(bars.counts) == [int(n) for n in counts.split()]
    assert bars.edges[0] == pytest.approx(first, abs=1e-6)
    assert bars.edges[-1] == pytest.approx(last, abs=1e-6)
    np.testing.assert_allclose(np.diff(bars.edges), (last - first) / 10, atol=1e-6)


def test_only_every_tenth_sample_steps_and_each_adds_to_the_gradient(steps):
    assert [s.sample for s in steps if s.stepped] == [10, 20, 30, 40]
    for step in steps:
        assert step.in_grad == (step.sample - 1) % 10 + 1
        if step.in_grad == 1:  # nothing was there before
            assert step.norms == step.own_norms


def test_the_unused_layer_is_explained():
    toy = problem("ToyModel")
    report = inspect(toy.model, *toy.inputs, loss=toy.network.criterion)
    row = report.layers[-1]
    assert (row.name, row.call, row.params) == ("tmp", None, 3 * 6 * 9 + 6)
    assert "forward does not call this layer" in row.why_none
    for parameter in report.parameters[:2]:
        assert parameter.layer == "tmp"
        assert parameter.grad_norm is None
        assert "never used" in parameter.why_none
    (finding,) = find_health(report)
    assert (finding.kind, finding.layers) == ("never used", ("tmp",))
