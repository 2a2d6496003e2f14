"""The one place that imports torchvision: `from explorer.torchvision_guard import torchvision`.

The CUDA build of torchvision beside a CPU build of torch (what pip gives when torch is already
the CPU build) fails at import, because its compiled operators were not loaded. Classification
models, transforms and feature extraction need none of them: declaring the two operators that
torchvision registers a shape rule for lets the import through. What then remains absent are the
compiled detection operators, which this project does not use.
"""

import sys

import torch

_OPERATORS = ("nms", "qnms")
_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"

try:
    import torchvision
except RuntimeError as error:
    if "torchvision::nms" not in str(error):
        raise
    # What was imported before the failure must run again beside the declared operators.
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    # The declarations live as long as this object does.
    _library = torch.library.Library("torchvision", "FRAGMENT")
    for operator in _OPERATORS:
        _library.define(operator + _SCHEMA)
    import torchvision

import torchvision.transforms.v2  # noqa: E402  (transforms does not import it)

__all__ = ["torchvision"]
