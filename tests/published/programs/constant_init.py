# The net whose weights are all 0.1: a head, three variants of the loss, and the step.

# ======== head
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

# ======== step
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

# ======== old
loss = F.nll_loss(OldLogSoftmax.apply(net(x)), y)

# ======== today
loss = criterion(net(x), y)

# ======== double
net, x = net.double(), x.double()
loss = criterion(net(x), y)

# ======== the last line fails today and says what to do
optimizer.zero_grad()
print(net.conv1.weight.grad[0][0][0])
