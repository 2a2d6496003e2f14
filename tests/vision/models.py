"""Networks the tests share; each is made once."""

from functools import cache

import torch
from torch import Tensor, nn

from explorer.torchvision_guard import torchvision

NAMES = ("resnet18", "vgg11", "mobilenet_v3_small", "densenet121")


@cache
def network(name: str) -> nn.Module:
    """torchvision's network with cheap random weights, in evaluation mode."""
    with torch.device("meta"):
        model = torchvision.models.get_model(name, weights=None, num_classes=10)
    model = model.to_empty(device="cpu").eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for key, value in model.state_dict().items():
            if value.dtype == torch.int64:
                value.zero_()
            elif key.endswith("running_var"):
                value.fill_(1)
            elif value.dim() > 1:
                scale = (2 / value[0].numel()) ** 0.5
                value.uniform_(-scale, scale, generator=generator)
            else:
                value.uniform_(-0.1, 0.1, generator=generator)
                if "weight" in key:
                    value += 1
    return model


def random_input(size: int = 64, seed: int = 0) -> Tensor:
    return torch.rand(1, 3, size, size, generator=torch.Generator().manual_seed(seed))


class Reused(nn.Module):
    """One convolution and one in-place ReLU, each called three times."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1)
        self.relu = nn.ReLU(inplace=True)
        self.unused = nn.Conv2d(3, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(3):
            x = self.relu(self.conv(x))
        return x.mean((2, 3))
