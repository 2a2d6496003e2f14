"""Sentences that explain torch's errors when a model cannot run."""

from __future__ import annotations

import re

from explorer.networks.records import LayerError

#: What torch's message contains, the sentence for it, and what to do.
_KNOWN: tuple[tuple[str, str, str], ...] = (
    (
        r"Expected more than 1 value per channel when training",
        "batch normalisation in train mode needs more than one value per channel, and this batch "
        "gives it only one",
        "Use two or more samples, or model.eval().",
    ),
    (
        r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)",
        "it expects {2} features and got {1}",
        "Check the input's shape, or the layer's number of input features.",
    ),
    (
        r"expected input.* to have (\d+) channels, but got (\d+) channels",
        "it expects {0} channels and got {1}",
        "Check the input's shape: samples × channels × height × width.",
    ),
    (
        r"Kernel size can't be greater than actual input size|Output size is too small|"
        r"calculated output size.*too small",
        "the image has become smaller than the kernel",
        "Use a larger image.",
    ),
    (
        r"Expected \d-?D.*(?:input|tensor)|expected \d+D|input has inconsistent|"
        r"must match the size|shape '.*' is invalid|size mismatch",
        "the input's shape does not fit",
        "Check the input's shape, the batch dimension included.",
    ),
    (
        r"expected scalar type|must have the same dtype|should be the same|same dtype",
        "the input's dtype is not the layer's",
        "Convert the input, for example with x.float().",
    ),
    (
        r"BackwardHookFunction\w* is a view and is being modified inplace",
        "a full backward hook cannot be combined with an in-place operation on the layer's output",
        "Use a tensor hook on the layer's output, or inplace=False in the next layer.",
    ),
    (
        r"Cannot use both regular backward hooks and full backward hooks",
        "a layer can have full or deprecated backward hooks, not both",
        "Remove one of the two.",
    ),
    (
        r"modified by an inplace operation",
        "a value that backward needs was changed in place after it was used",
        "Use the operation without the underscore, or inplace=False.",
    ),
    (
        r"does not require grad and does not have a grad_fn",
        "nothing here requires grad: every parameter and input is frozen",
        "Set requires_grad=True on a parameter or the input.",
    ),
    (
        r"out of memory|can't allocate memory",
        "there is not enough memory",
        "Use a smaller batch or image.",
    ),
)


def explain(
    error: Exception, layer: str | None = None, kind: str = "", call: int | None = None
) -> LayerError:
    """Explain `error` in one sentence.

    It was raised in `layer`: "" is the model's own code, None means after the model. `kind` is the
    layer's type.
    """
    detail = f"{type(error).__name__}: {error}".strip()
    first_line = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    sentence, hint = first_line, ""
    for pattern, template, advice in _KNOWN:
        match = re.search(pattern, detail, re.DOTALL)
        if match:
            sentence, hint = template.format(*match.groups()), advice
            break
    if layer is None:
        message = f"{sentence[0].upper()}{sentence[1:]}."
    else:
        where = f"layer {layer}" if layer else "the model's own code"
        message = f"In {where} ({kind}): {sentence}."
    return LayerError(message, layer, call, hint, detail)
