"""Forward mode, function transforms, hooks on the graph, and numbers of other kinds."""

from explorer.trace.examples.example import Example

AUTOGRAD_SURFACE: tuple[Example, ...] = (
    Example(
        "dual_numbers",
        "Tangents travel along",
        "Forward mode",
        "How fast does the result change if x moves along v?",
        "Forward mode computes it together with the value: x carries the tangent (1, 0), and the "
        "result the tangent 2, the derivative of x₁² + 3x₂ in that direction. No backward runs.",
        """\
import torch
import torch.autograd.forward_ad as fwAD

x = torch.tensor([1.0, 2.0])
v = torch.tensor([1.0, 0.0])
with fwAD.dual_level():
    dual = fwAD.make_dual(x, v)
    y = dual[0] ** 2 + 3 * dual[1]
    value, tangent = fwAD.unpack_dual(y)
print(value, tangent)
""",
    ),
    Example(
        "forward_over_reverse",
        "Hessian times vector",
        "Forward mode",
        "How does the gradient change if x moves along v?",
        "backward computes the gradient 3x² of a tensor that has a tangent, so the gradient has "
        "one too: 6x · v, the Hessian times v, without computing the Hessian.",
        """\
import torch
import torch.autograd.forward_ad as fwAD

x = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.tensor([1.0, 10.0])
with fwAD.dual_level():
    dual = fwAD.make_dual(x, v)
    loss = (dual**3).sum()
    (gradient,) = torch.autograd.grad(loss, dual, create_graph=True)
    print(fwAD.unpack_dual(gradient).tangent)
""",
    ),
    Example(
        "custom_jvp",
        "A Function with its own jvp",
        "Forward mode",
        "What does a custom Function need for forward mode?",
        "A static method jvp: it receives the tangent of the input and returns that of the "
        "result, here cos(x) · tangent. backward is only needed for reverse mode.",
        """\
import torch
from torch.autograd import forward_ad

class Sine(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.sin(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return torch.cos(x) * tangent

with forward_ad.dual_level():
    x = forward_ad.make_dual(torch.tensor(0.0), torch.tensor(5.0))
    y = Sine.apply(x)
    print(forward_ad.unpack_dual(y).tangent)
""",
    ),
    Example(
        "per_sample_gradients",
        "A gradient for each sample",
        "Function transforms",
        "What does each sample contribute to the gradient?",
        "grad differentiates the loss of one sample and vmap runs it for all of them at once: one "
        "row for each sample. Their mean is the gradient that backward gives for the mean loss.",
        """\
import torch
from torch.func import grad, vmap

w = torch.tensor([1.0, -1.0])
x = torch.tensor([[1.0, 2.0], [3.0, 1.0], [0.0, 1.0]])
target = torch.tensor([0.0, 1.0, 1.0])

loss = lambda w, x, target: (w @ x - target) ** 2
each = vmap(grad(loss), in_dims=(None, 0, 0))(w, x, target)
print(each)
print(each.mean(0))
""",
    ),
    Example(
        "linearize",
        "A function as a linear map",
        "Function transforms",
        "What is the best linear approximation of f near x?",
        "linearize returns the value and a linear function of tangents: the Jacobian at x, here "
        "with the columns (2, 2) for x₁ and (0, 1) for x₂.",
        """\
import torch
from torch.func import linearize

f = lambda x: torch.stack([x[0] ** 2, x[0] * x[1]])
value, linear = linearize(f, torch.tensor([1.0, 2.0]))
print(value, linear(torch.tensor([1.0, 0.0])), linear(torch.tensor([0.0, 1.0])))
""",
    ),
    Example(
        "saved_hooks",
        "What autograd saves",
        "Graph and hooks",
        "What does autograd keep for backward?",
        "Each tensor that an operation will need again goes to the pack hook, and comes back from "
        "the unpack hook when its node runs. Here half-precision copies wait in between.",
        """\
import torch

def pack(tensor):
    print("saved:", tensor.tolist())
    return tensor.detach().half()

def unpack(packed):
    print("needed again:", packed.tolist())
    return packed.float()

x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    y = (x * w).sum()
y.backward()
print(x.grad, w.grad)
""",
    ),
    Example(
        "multi_grad_hook",
        "A hook on several gradients",
        "Graph and hooks",
        "When are the gradients of both a and b complete?",
        "register_multi_grad_hook runs its hook once, after the last of them has been computed, "
        "and gives it all of them, here to compute their common norm.",
        """\
import torch
from torch.autograd.graph import register_multi_grad_hook

a = torch.tensor([3.0], requires_grad=True)
b = torch.tensor([2.0], requires_grad=True)

def common_norm(grads):
    print("norm:", sum((g**2).sum() for g in grads).sqrt().item())

register_multi_grad_hook((a, b), common_norm)
loss = (2 * a + b**2).sum()
loss.backward()
""",
    ),
    Example(
        "gradient_edge",
        "A gradient in the middle",
        "Graph and hooks",
        "Where in the graph does the gradient of y arrive?",
        "At an edge: a node and the number of its output. grad can stop there, or start from "
        "there, even after the tensor y is gone.",
        """\
import torch
from torch.autograd.graph import get_gradient_edge

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x**2
edge = get_gradient_edge(y)
loss = (3 * y).sum()
print(edge.node.name(), edge.output_nr)
print(torch.autograd.grad(loss, edge, retain_graph=True))
print(torch.autograd.grad(edge, x, grad_outputs=torch.ones(2)))
""",
    ),
    Example(
        "inference_mode",
        "Inference tensors",
        "Graph and hooks",
        "Can a tensor made in inference mode be used for training later?",
        "Only a copy: autograd keeps no version counter for an inference tensor, so it cannot "
        "save it for backward. clone() makes a normal tensor of it.",
        """\
import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.inference_mode():
    features = torch.tensor([3.0, 4.0]) * 2
print(features.is_inference())
try:
    loss = (w * features).sum()
except RuntimeError as error:
    print(error)
loss = (w * features.clone()).sum()
loss.backward()
print(w.grad)
""",
    ),
    Example(
        "complex_gradient",
        "Gradient of a complex number",
        "Complex numbers",
        "What is the gradient of |z|² at z = 3 + 4i?",
        "6 + 8i: the derivative by the real part is 6, by the imaginary part 8. z - lr · z.grad "
        "is a step downhill. In Wirtinger's terms it is twice the derivative by conj(z).",
        """\
import torch

z = torch.tensor(3 + 4j, requires_grad=True)
loss = (z * z.conj()).real
loss.backward()
print(z.grad)
""",
    ),
)
