# Tutorials in cells: several small computations, names that are used again.
#
# Of these programs nothing may be said.

# ======== two computations, one backward
# a and b show what requires_grad means; nothing is asked about their gradients.
# %%
import torch

a = torch.ones(2, 2, requires_grad=True)
b = torch.ones(2, 2, requires_grad=True)
c = a + b
print(c.requires_grad, c.grad_fn)

# %%
x = torch.ones(2, requires_grad=True)
y = 5 * (x + 1) ** 2
o = (1 / 2) * torch.sum(y)
o.backward()
x.grad

# ======== names used again in a later cell
# x1 and x2 are leaves in the first cell, and results of a Function in the last.
# %%
import torch

x1 = torch.randn(3, requires_grad=True)
x2 = torch.randn(3, requires_grad=True)
z = x1 * x2
print(z)

# %%
class Split(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone(), x.clone()

    @staticmethod
    def backward(ctx, g1, g2):
        return g1 + g2

# %%
x = torch.ones(4, requires_grad=True)
x1, x2 = Split.apply(x)
(x1 + 2 * x2).sum().backward()
x.grad

# ======== batches that require a gradient
# Older tutorials write requires_grad_() after each batch. It is not needed, and does no harm.
import torch
from torch import nn

torch.manual_seed(0)
data = [(torch.randn(4, 1, 3, 3), torch.randint(0, 2, (4,))) for _ in range(4)]
model = nn.Linear(9, 2)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(2):
    for i, (images, labels) in enumerate(data):
        images = images.view(-1, 9).requires_grad_()
        optimizer.zero_grad()
        outputs = model(images)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())

# ======== values shown at the end of cells
# A conversion on the last line of a cell shows its value, and is not meant to be kept.
# %%
import torch

A = torch.tensor([[1, 2], [3, 4]])
A.float()

# %%
w = torch.randn(2, requires_grad=True)
loss = (A.float() @ w - 1).pow(2).mean()
loss.backward()
w.grad

# %%
w.detach().numpy()

# %%
A.view(4)
