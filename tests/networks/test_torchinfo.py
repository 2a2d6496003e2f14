"""Output shapes and parameters against torchinfo, on ten models."""

import pytest
import torch
import torchinfo

from explorer.networks import inspect, problem
from explorer.networks.problems import SampledProblem

NAMES = (
    "ToyModel",
    "LeNet-5",
    "shapes net",
    "two-layer sigmoid",
    "MLP on moons",
    "resnet18",
    "alexnet",
    "squeezenet1_1",
    "mobilenet_v3_small",
    "densenet121",
)


@pytest.mark.parametrize("name", NAMES)
def test_output_shapes_and_parameters(name):
    preset = problem(name)
    model = preset.model.to("meta")
    inputs = [x.to("meta") for x in preset.inputs]
    if isinstance(preset, SampledProblem):
        inputs = [inputs[0][:1]]
    theirs = torchinfo.summary(
        model, input_data=inputs, verbose=0, depth=99, device=torch.device("meta")
    )
    report = inspect(model, *inputs)
    leaves = [i for i in theirs.summary_list if i.is_leaf_layer and i.executed]
    ours = [r for r in report.layers if r.call is not None]
    assert [(r.type, r.output_shape, r.params + r.shared) for r in ours] == [
        (i.class_name, tuple(i.output_size), i.num_params) for i in leaves
    ]
    assert report.total_params == theirs.total_params
