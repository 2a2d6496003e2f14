import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return torch.tanh(x) * 2


program = torch.export.export(Net(), (torch.ones(2),))
x = torch.tensor([0.5, -0.5], requires_grad=True)
program.module()(x).sum().backward()
print(x.grad)
