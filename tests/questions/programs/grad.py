# Questions about what torch.autograd.grad can and cannot reach.

# ======== https://github.com/pytorch/pytorch/issues/45405
# asked = "Why does autograd.grad return None inside the backward of my own Function?"
# accepted = "Inside backward gradients are not recorded; recompute under torch.enable_grad()."
# shows = "does not require grad"
# answers = ["history.none", "history.cut", "error"]
# says = ["backward", "enable_grad"]
# --------
import torch

class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x * w).sum()

    @staticmethod
    def backward(ctx, upstream):
        x, w = (t.detach().requires_grad_() for t in ctx.saved_tensors)
        out = (x * w).sum()
        dx, dw = torch.autograd.grad(out, (x, w), upstream)
        return dx, dw

x = torch.ones(3, requires_grad=True)
w = torch.full((3,), 2.0, requires_grad=True)
Product.apply(x, w).backward()

# ======== https://github.com/dragen1860/MAML-Pytorch/issues/26
# asked = """autograd.grad is called without create_graph. Does this code compute the second-order \
#   gradient of MAML?"""
# accepted = """No, only the first-order approximation: without create_graph=True the inner \
#   gradient is a constant for the outer backward."""
# shows = "tensor(1.6000)"
# answers = ["none.cut"]
# says = ["step", "line 5", "create_graph"]
# --------
import torch

theta = torch.tensor(2.0, requires_grad=True)
inner = theta**3
(step,) = torch.autograd.grad(inner, theta)
adapted = theta - 0.1 * step
outer = adapted**2
outer.backward()
print(theta.grad)

# ======== https://github.com/pytorch/pytorch/issues/32304
# asked = "Why can I not take the second derivative of a linear function, when it should be 0?"
# accepted = """The first derivative of a linear function is a constant that does not depend on \
#   the input, so it has no graph; the second derivative is 0."""
# shows = "does not require grad"
# answers = ["history.none", "history.cut", "error"]
# says = ["speed", "constant", ["is 0", "zero"]]
# --------
import torch

t = torch.tensor(1.5, requires_grad=True)
position = 4.0 * t
(speed,) = torch.autograd.grad(position, t, create_graph=True)
(acceleration,) = torch.autograd.grad(speed, t)
print(acceleration)

# ======== https://github.com/pytorch/pytorch/issues/73697
# asked = "'One of the differentiated Tensors appears to not have been used': which one?"
# accepted = """The one that y was not computed from. Leave it out, or pass allow_unused=True and \
#   get None for it."""
# shows = "appears to not have been used"
# answers = ["error", "none.unused"]
# says = ["scale", "line 7", "allow_unused"]
# --------
import torch

slope = torch.tensor(2.0, requires_grad=True)
shift = torch.tensor(1.0, requires_grad=True)
scale = torch.tensor(5.0, requires_grad=True)
y = slope * 3.0 + shift
gradients = torch.autograd.grad(y, [slope, shift, scale])

# ======== https://github.com/showlab/BoxDiff/issues/20
# asked = """autograd.grad says the latent was not used in the graph, though the loss is computed \
#   from it."""
# accepted = "Between the latents and the loss the history is cut, here by detach(); remove it."
# shows = "appears to not have been used"
# answers = ["none.cut", "history.cut"]
# says = ["latents", "detach*", "line 5"]
# --------
import torch

torch.manual_seed(0)
latents = torch.randn(4, requires_grad=True)
attention = torch.softmax(latents.detach() * 2.0, dim=0)
bias = torch.zeros(4, requires_grad=True)
loss = 1.0 - (attention + bias).max()
(direction,) = torch.autograd.grad(loss, latents)
