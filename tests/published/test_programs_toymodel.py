"""ToyModel's accumulated gradients, typed as a training loop."""

from pathlib import Path

import pytest

from explorer.trace import run
from tests.programs import programs

PROGRAMS = programs(Path(__file__).with_name("programs") / "toymodel.py")
SOURCE = PROGRAMS["source"]

NAMES = ("conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias", "fc.weight")
NORMS = {
    10: (0.147315, 0.167138, 0.920320, 0.544210, 1.725822),
    20: (0.034993, 0.038014, 0.207292, 0.126169, 0.399132),
    30: (0.078125, 0.088333, 0.490127, 0.287542, 0.916894),
    40: (0.145300, 0.165120, 0.919073, 0.539893, 1.726549),
}
HISTOGRAMS = {
    "conv1.weight": ([4, 2, 13, 27, 76, 22, 11, 5, 1, 1], -0.036256, 0.045581),
    "conv1.bias": ([1, 2, 0, 0, 1, 0, 1, 0, 0, 1], -0.028756, 0.133617),
    "conv2.weight": ([15, 10, 35, 245, 1828, 970, 230, 68, 40, 15], -0.076537, 0.081974),
    "conv2.bias": ([1, 0, 1, 8, 12, 28, 5, 6, 0, 3], -0.210875, 0.200775),
    "fc.weight": ([1, 7, 11, 12, 33, 33, 12, 11, 7, 1], -0.419668, 0.419668),
}


def test_norms_and_histograms_after_10_20_30_40_samples():
    trace = run(SOURCE)
    assert trace.error is None, trace.error
    history, histograms = trace.variables["history"], trace.variables["histograms"]
    for (samples, numbers), found in zip(NORMS.items(), history.values(), strict=True):
        assert list(found) == list(NAMES)
        assert list(found.values()) == pytest.approx(numbers, abs=1e-5), samples
    for name, (counts, first, last) in HISTOGRAMS.items():
        assert histograms[name][0] == counts
        assert histograms[name][1:] == pytest.approx([first, last], abs=2e-6)
    assert trace.output.count("None") == 8  # the unused layer's weight and bias, each time
