# Small programs of the articles; test_articles.py has the numbers they print.

# ======== a
import torch
x = torch.tensor([[1., 2.]], requires_grad=True)
y = x + 2
z = 3 * y**2
out = z.mean()
out.backward()

# ======== c
import torch
x = torch.tensor([[1.]])
y = torch.tensor([[1.], [0.]])
w1 = torch.tensor([[1.], [2.]], requires_grad=True)
w2 = torch.tensor([[3., 4.], [5., 6.]], requires_grad=True)
z1 = w1 @ x
y1 = torch.sigmoid(z1)
z2 = w2 @ y1
y2 = torch.sigmoid(z2)
loss = ((y2 - y)**2).sum() / 2
loss.backward()

# ======== e
import torch
w_true, b_true = torch.tensor([2., -3.4]), 4.2
X = torch.randn(1000, 2)
y = X @ w_true + b_true + 0.01 * torch.randn(1000)
X, y = X[:10], y[:10]
w = (0.01 * torch.randn(2, 1)).requires_grad_()
b = torch.zeros(1, requires_grad=True)
y_hat = torch.mm(X, w) + b
loss = ((y_hat - y.view(y_hat.size()))**2 / 2).sum()
print(X.grad_fn, loss.is_leaf, w.is_leaf, b.is_leaf, X.is_leaf, y_hat.shape)
print(type(loss.grad_fn).__name__)
mean = loss.mean()

# ======== b the gradient of a non leaf is none
import torch
x = torch.tensor([1., 2.], requires_grad=True)
y = x + 2
z = (y**2).mean()
z.backward()
print(y.grad)
x.data -= 1e-3 * x.grad

# ======== b a hook prints the gradient
import torch
x = torch.tensor([1., 2.], requires_grad=True)
y = 2 * x
y.register_hook(print)
y.mean().backward()
