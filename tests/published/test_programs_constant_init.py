"""The net whose weights are all 0.1, in three variants, and the article's last line."""

import pytest

from explorer.trace import run

pytestmark = pytest.mark.fast

HEAD = """
import torch
import torch.nn as nn
import torch.nn.functional as F

class OldLogSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        top = x.max(dim=1, keepdim=True)[0]
        out = x - (top + torch.log(torch.sum(torch.exp(x - top), dim=1, keepdim=True)))
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, g):
        out, = ctx.saved_tensors
        return g - torch.exp(out) * g.sum(dim=1, keepdim=True)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, kernel_size=3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(16, 32, kernel_size=3, padding=1, bias=False)
        self.linear = nn.Linear(32 * 10 * 10, 20, bias=False)

    def forward(self, x):
        x = self.conv2(self.conv1(x))
        return self.linear(x.view(x.size(0), -1))

def init_weights(m):
    if isinstance(m, (nn.Conv2d, nn.Linear)):
        nn.init.constant_(m.weight, 0.1)

net = Net()
net.apply(init_weights)
x, y = torch.ones(8, 3, 10, 10), torch.ones(8, dtype=torch.long)
criterion = nn.CrossEntropyLoss()
"""
STEP = """
optimizer = torch.optim.SGD(net.parameters(), lr=1)
before = {name: p.data.clone() for name, p in net.named_parameters()}
print("before", net.conv1.weight.grad)
optimizer.zero_grad()
loss.backward()
print(net.conv1.weight.grad[0][0][0].double())
row = net.linear.weight.grad
print(f"{row[0].min():.4f} {row[0].max():.4f} {row[1].min():.3f} {row[1].max():.4f}")
optimizer.step()
print(net.conv1.weight.data[0][0][0])
print(all(torch.equal(p.data, before[n] - 1 * p.grad) for n, p in net.named_parameters()))
largest = net.conv1.weight.grad.abs().max().item()
"""
OLD = "loss = F.nll_loss(OldLogSoftmax.apply(net(x)), y)\n"
TODAY = "loss = criterion(net(x), y)\n"
DOUBLE = "net, x = net.double(), x.double()\nloss = criterion(net(x), y)\n"


def outcome(variant: str, rest: str = STEP):
    trace = run(HEAD + variant + rest)
    assert trace.error is None, trace.error
    return trace, trace.output.splitlines()


def test_the_old_log_softmax_prints_the_published_numbers():
    _, lines = outcome(OLD)
    assert lines[0] == "before None"
    assert lines[1] == "tensor([-0.0782, -0.0842, -0.0782], dtype=torch.float64)"
    assert lines[3] == "tensor([0.1782, 0.1842, 0.1782])"
    assert lines[4] == "True"


@pytest.mark.parametrize(("variant", "most"), [(TODAY, 1e-6), (DOUBLE, 1e-12)])
def test_they_were_rounding_noise(variant, most):
    trace, lines = outcome(variant)
    assert 0 <= trace.variables["largest"] < most
    assert lines[2] == "0.6000 1.9440 -36.936 -11.4000"
    assert lines[4] == "True"


def test_the_last_line_fails_today_and_says_what_to_do():
    last = "optimizer.zero_grad()\nprint(net.conv1.weight.grad[0][0][0])"
    trace = run(HEAD + OLD + STEP + last)
    assert trace.error is not None
    assert trace.error.text == "print(net.conv1.weight.grad[0][0][0])"
    assert "zero_grad(set_to_none=False)" in trace.error.hint
    assert "NoneType" in trace.error.detail
    assert trace.output.splitlines()[3] == "tensor([0.1782, 0.1842, 0.1782])"  # up to that line
    cured = last.replace("zero_grad()", "zero_grad(set_to_none=False)")
    _, lines = outcome(OLD, STEP + cured)
    assert lines[-1] == "tensor([0., 0., 0.])"
