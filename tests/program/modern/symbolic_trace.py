import torch
from torch import fx, nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x):
        return torch.relu(self.fc(x)) + 1


torch.manual_seed(0)
net = Net()
traced = fx.symbolic_trace(net)
print([node.op for node in traced.graph.nodes])
traced(torch.ones(1, 3)).sum().backward()
print(net.fc.bias.grad)
