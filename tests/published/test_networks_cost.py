"""Parameters and MACs against those torchvision documents for its classifiers.

All agree to the printed digits. googlenet alone needs a word: the documented number of parameters
is that without the two auxiliary classifiers, which are only used in training.
"""

import pytest
import torch

from explorer.networks import inspect
from explorer.networks.classifiers import CLASSIFIERS
from explorer.torchvision_guard import torchvision
from tests.marks import sample

OTHERS = """
    resnet34 resnext50_32x4d wide_resnet50_2 vgg11_bn vgg13 vgg16 vgg19_bn squeezenet1_0
    googlenet inception_v3 mobilenet_v2 mobilenet_v3_large shufflenet_v2_x0_5 mnasnet0_5
    mnasnet0_75 mnasnet1_0 regnet_x_400mf regnet_x_800mf regnet_y_800mf vit_b_32 swin_v2_t
    maxvit_t
"""
NAMES = sorted({*CLASSIFIERS, *OTHERS.split()})


def on_meta(name):
    options = {"aux_logits": False} if name == "googlenet" else {}
    try:
        with torch.device("meta"):
            return torchvision.models.get_model(name, init_weights=False, **options)
    except (TypeError, RuntimeError):  # no such option; or not to be built on meta
        return torchvision.models.get_model(name, **options).to("meta")


def test_at_least_thirty_and_transformers_among_them():
    assert len(NAMES) >= 30
    assert {"vit_b_16", "swin_t", "swin_v2_t", "maxvit_t"} <= set(NAMES)


@pytest.mark.parametrize("name", sample(NAMES, every=4))
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_parameters_and_macs_as_documented(name):
    weights = torchvision.models.get_model_weights(name).IMAGENET1K_V1
    size = weights.transforms().crop_size[0]
    report = inspect(on_meta(name).eval(), torch.zeros(1, 3, size, size, device="meta"))
    assert report.error is None
    assert report.total_params == weights.meta["num_params"]
    assert f"{report.total_macs / 1e9:.3f}" == f"{weights.meta['_ops']:.3f}"
    assert sum(row.params for row in report.layers) == report.total_params
    assert sum(row.macs or 0 for row in report.layers) == report.total_macs
