"""A training loop typed as a program is plain PyTorch to the last bit, for every optimizer."""

import pytest
import torch

from tests.program.compare import ours, plain, same

pytestmark = pytest.mark.fast

OPTIMIZERS = {
    "SGD": "lr=0.1",
    "SGD momentum": "lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01",
    "Adam": "lr=0.01",
    "Adam amsgrad": "lr=0.01, amsgrad=True, betas=(0.8, 0.99)",
    "AdamW": "lr=0.01, weight_decay=0.1",
    "Adamax": "lr=0.01",
    "NAdam": "lr=0.01",
    "RAdam": "lr=0.01",
    "Adagrad": "lr=0.05",
    "Adadelta": "lr=1.0",
    "RMSprop": "lr=0.01, momentum=0.5, centered=True",
    "Rprop": "lr=0.01",
    "ASGD": "lr=0.05",
    "Adafactor": "lr=0.01",
    "Muon": "lr=0.02",
    "LBFGS": "lr=0.5",
}

LOOP = """
import torch
import torch.nn as nn
import torch.optim as optim

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(3, 5)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(5, 2)

    def forward(self, x):
        return self.out(self.drop(torch.tanh(self.hidden(x))))

def train(net, optimizer, X, y, steps):
    criterion = nn.CrossEntropyLoss()
    losses = []
    for step in range(steps):
        def closure():
            optimizer.zero_grad()
            loss = criterion(net(X), y)
            loss.backward()
            return loss
        losses.append(optimizer.step(closure).item())
        scheduler.step()
    return losses

torch.manual_seed(3)
X, y = torch.randn(12, 3), torch.randint(0, 2, (12,))
net = Net()
matrices_only = "NAME" == "Muon"
trained = [p for p in net.parameters() if p.dim() == 2 or not matrices_only]
optimizer = optim.NAME(trained, SETTINGS)
scheduler = optim.lr_scheduler.ExponentialLR(optimizer, 0.98)
losses = train(net, optimizer, X, y, 20)
parameters = [p.data for p in net.parameters()]
rate = optimizer.param_groups[0]["lr"]
state = [{k: v for k, v in s.items() if torch.is_tensor(v)} for s in optimizer.state.values()]
"""


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_twenty_steps_are_bit_equal(name):
    source = LOOP.replace("NAME", name.split()[0]).replace("SETTINGS", OPTIMIZERS[name])
    _, expected = plain(source)
    _, found = ours(source)
    assert len(expected["losses"]) == 20
    assert not torch.equal(expected["parameters"][0], expected["parameters"][0] * 0)
    for variable in ("losses", "parameters", "rate", "state", "net"):
        same(found[variable], expected[variable], variable)
