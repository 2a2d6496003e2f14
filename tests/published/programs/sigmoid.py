# Two sigmoid layers: a head, and three ways to read the gradients in between.

# ======== head
import torch

class TwoLayers:
    def __init__(self):
        self.w1 = torch.tensor([[1.], [2.]], requires_grad=True)
        self.w2 = torch.tensor([[3., 4.], [5., 6.]], requires_grad=True)
        self.kept = {}

    def keep(self, name):
        def hook(grad):
            self.kept[name] = grad
            print(name, grad)
        return hook

    def forward(self, x, y, watch):
        z1 = self.w1 @ x
        y1 = torch.sigmoid(z1)
        z2 = self.w2 @ y1
        y2 = torch.sigmoid(z2)
        loss = 0.5 * torch.sum((y2 - y) ** 2)
        for name, tensor in [("z1", z1), ("y1", y1), ("z2", z2), ("y2", y2), ("loss", loss)]:
            watch(self, name, tensor)
        return z1, y1, z2, y2, loss

x = torch.tensor([[1.]])
y = torch.tensor([[1.], [0.]])
net = TwoLayers()

# ======== by hooks
z1, y1, z2, y2, loss = net.forward(x, y, lambda n, name, t: t.register_hook(n.keep(name)))
loss.backward()
grads = net.kept
print(z1.grad_fn is not None, loss.item(), net.w1.grad, net.w2.grad)
g_z1, g_y1, g_z2, g_y2, g_loss = (grads[k] for k in ["z1", "y1", "z2", "y2", "loss"])

# ======== by retain
z1, y1, z2, y2, loss = net.forward(x, y, lambda n, name, t: t.retain_grad())
loss.backward()
print(loss.item(), net.w1.grad, net.w2.grad)
g_z1, g_y1, g_z2, g_y2, g_loss = z1.grad, y1.grad, z2.grad, y2.grad, loss.grad
