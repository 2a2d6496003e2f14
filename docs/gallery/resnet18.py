"""A training step of ResNet-18 (He et al., https://arxiv.org/abs/1512.03385), random weights."""

import torch
from torch import nn

from explorer.torchvision_guard import torchvision

torch.manual_seed(0)
model = torchvision.models.resnet18()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
images, labels = torch.randn(4, 3, 224, 224), torch.randint(1000, (4,))

for _ in range(2):
    optimizer.zero_grad()
    scores = model(images)
    loss = nn.functional.cross_entropy(scores, labels)
    loss.backward()
    optimizer.step()
