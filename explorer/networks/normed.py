"""The same small network with batch norm and with layer norm."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from explorer.networks import synthetic_images
from explorer.networks.problems import SampledProblem, Samples, sampled, source_of


class NormedNet(nn.Module):
    """Two convolutions, each followed by batch norm (Ioffe & Szegedy 2015,
    https://arxiv.org/abs/1502.03167) or layer norm (Ba et al. 2016,
    https://arxiv.org/abs/1607.06450); images of 16 × 16 pixels."""

    def __init__(self, norm: type[nn.Module], classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm1 = norm(8) if norm is nn.BatchNorm2d else norm([8, 8, 8])
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.norm2 = norm(16) if norm is nn.BatchNorm2d else norm([16, 4, 4])
        self.fc = nn.Linear(16, classes)

    def forward(self, images: Tensor) -> Tensor:
        x = F.relu(self.norm1(self.conv1(images)))
        x = F.relu(self.norm2(self.conv2(x)))
        scores: Tensor = self.fc(x.mean((2, 3)))
        return scores


_END = """\
images, labels = (torch.from_numpy(part) for part in draw(32, 16, seed=0))
net = NormedNet({norm}, classes={classes})
"""
_NOTES = {
    "BatchNorm": "Batch norm gives each channel mean 0 and standard deviation 1 over the batch: "
    "what one image becomes depends on the others (Ioffe & Szegedy 2015). The biases before it "
    "get no gradient but rounding errors: it subtracts them again.",
    "LayerNorm": "Layer norm gives each image mean 0 and standard deviation 1 over all channels: "
    "the other images do not matter (Ba et al. 2016).",
}


def normed(name: str) -> SampledProblem:
    """32 drawn images; `name` is "BatchNorm" or "LayerNorm"."""
    norm: type[nn.Module] = nn.BatchNorm2d if name == "BatchNorm" else nn.LayerNorm
    classes = len(synthetic_images.CLASSES)

    def collect() -> Samples:
        images, labels = (torch.from_numpy(part) for part in synthetic_images.draw(32, 16, seed=0))
        return Samples(NormedNet(norm, classes), images, labels, F.cross_entropy)

    end = _END.format(norm=f"nn.{norm.__name__}", classes=classes)
    return sampled(
        name,
        "Over what does the layer normalise?",
        collect,
        source="from explorer.networks.synthetic_images import draw\n"
        + source_of(NormedNet, end=end),
        loss_source="loss = F.cross_entropy(net(images[:8]), labels[:8])",
        note=_NOTES[name],
        batch=8,
    )
