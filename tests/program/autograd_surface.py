"""Programs that use autograd's own interfaces; plain PyTorch prints the same."""

FORWARD_MODE = {
    "a dual number": """
import torch
import torch.autograd.forward_ad as fwAD
p, t = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([1.0, 0.0, 2.0])
with fwAD.dual_level() as level:
    d = fwAD.make_dual(p, t)
    print(level, fwAD.unpack_dual(d).tangent is t, d)
    out = d**2 + torch.ones(3)
    value, tangent = fwAD.unpack_dual(out)
    print(value, tangent, fwAD.unpack_dual(torch.ones(3)))
print(fwAD.unpack_dual(out).tangent)
""",
    "parameters with tangents": """
import torch
from torch import nn
from torch.func import functional_call
import torch.autograd.forward_ad as fwAD
net, x = nn.Linear(3, 2), torch.randn(4, 3)
named = dict(net.named_parameters())
tangents = {name: torch.rand_like(p) for name, p in named.items()}
with fwAD.dual_level():
    duals = {name: fwAD.make_dual(p, tangents[name]) for name, p in named.items()}
    first = fwAD.unpack_dual(functional_call(net, duals, (x,))).tangent
    for name, p in named.items():
        delattr(net, name)
        setattr(net, name, duals[name])
    print(fwAD.unpack_dual(net(x)).tangent.equal(first))
print(first)
""",
    "a Function with jvp": """
import torch
from torch.autograd import forward_ad
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.result = x.exp()
        return ctx.result
    @staticmethod
    def jvp(ctx, tangent):
        product = tangent * ctx.result
        del ctx.result
        return product
x = torch.rand(3, dtype=torch.double, requires_grad=True)
with forward_ad.dual_level():
    y = Exp.apply(forward_ad.make_dual(x, torch.ones(3, dtype=torch.double)))
    print(forward_ad.unpack_dual(y).tangent)
print(torch.autograd.gradcheck(Exp.apply, x, check_forward_ad=True, check_backward_ad=False,
                               check_undefined_grad=False, check_batched_grad=False))
""",
    "levels without with": """
import torch
from torch.autograd import forward_ad as fw
print(fw.enter_dual_level())
x = fw.make_dual(torch.tensor(2.0), torch.tensor(1.0))
y = x.clone()
y.mul_(x)
print(fw.unpack_dual(y))
fw.exit_dual_level()
@fw.dual_level()
def f():
    return fw.unpack_dual(fw.make_dual(torch.ones(2), torch.ones(2)) * 3).tangent
print(f())
try:
    fw.make_dual(torch.ones(1), torch.ones(1))
except RuntimeError as error:
    print(error)
""",
    "forward over reverse": """
import torch
from torch.autograd import forward_ad as fw
x = torch.tensor([1.0, 2.0], requires_grad=True)
with fw.dual_level():
    d = fw.make_dual(x, torch.tensor([1.0, 0.0]))
    (g,) = torch.autograd.grad((d**3).sum(), d, create_graph=True)
    print(g, fw.unpack_dual(g).tangent)
""",
    "tangents that are zero": """
import torch
from torch.autograd import forward_ad as fw
x, w = torch.tensor([0.0, float("nan"), float("inf")]), torch.tensor([1.0, 2.0, 3.0])
functions = (
    lambda d: torch.where(d > 0, d, w), lambda d: d * w, lambda d: w / d,
    lambda d: torch.cat([d, w]) - torch.cat([w, w]), lambda d: torch.linalg.cross(d, w),
    lambda d: torch.stack([d, w]) * 2, lambda d: d.sqrt(), lambda d: torch.sub(w, d, alpha=2),
    lambda d: torch.add(w, d, alpha=3), lambda d: d.norm(),
)
with fw.dual_level():
    for f in functions:
        print(fw.unpack_dual(f(fw.make_dual(x, torch.ones(3)))).tangent)
""",
}

TRANSFORMS = {
    "linearize": """
import torch
from torch.func import jvp, linearize
f = lambda x: torch.sin(x) * x.sum()
value, linear = linearize(f, torch.arange(3.0))
print(value, linear(torch.ones(3)), linear(torch.tensor([1.0, 0.0, 0.0])))
value, linear = linearize(lambda x, y: (x * y, {"a": x.sin()}), torch.ones(2), torch.ones(2) * 3)
print(linear(torch.ones(2), torch.zeros(2)))
print(jvp(f, (torch.arange(3.0),), (torch.ones(3),)))
""",
    "functionalize": """
import torch
from torch.func import functionalize, grad
def f(x):
    y = x.clone()
    y.add_(1)
    return (y * y).sum()
print(functionalize(f)(torch.ones(3)), grad(functionalize(f))(torch.ones(3)))
""",
    "an ensemble": """
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap
nets = [nn.Sequential(nn.Linear(2, 3), nn.Tanh()) for _ in range(4)]
params, buffers = stack_module_state(nets)
print({name: p.shape for name, p in params.items()}, buffers)
def call(params, buffers, x):
    return functional_call(nets[0], (params, buffers), (x,))
x = torch.randn(5, 2)
print(vmap(call, in_dims=(0, 0, None))(params, buffers, x))
""",
    "a gradient per sample": """
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, vmap
net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(2 * 4 * 4, 3))
images, labels = torch.randn(4, 1, 6, 6), torch.randint(3, (4,))
params = {name: p.detach() for name, p in net.named_parameters()}
def loss(params, image, label):
    out = functional_call(net, params, (image.unsqueeze(0),))
    return F.cross_entropy(out, label.unsqueeze(0))
each = vmap(grad(loss), in_dims=(None, 0, 0), randomness="different", chunk_size=2)
print(each(params, images, labels)["3.bias"])
""",
    "ways of vmap": """
import torch
x = torch.randn(4, 3)
for randomness in ("same", "different"):
    print(torch.vmap(lambda a: a + torch.randn(3), randomness=randomness)(x))
print(torch.vmap(torch.dot, in_dims=(0, None))(x, torch.ones(3)))
print(torch.vmap(lambda d: d["a"] * 2, in_dims=({"a": 0},), out_dims=1)({"a": x}))
try:
    torch.vmap(lambda a: a + torch.randn(3))(x)
except RuntimeError as error:
    print("randomness" in str(error))
""",
    "jacobians and hessians": """
import torch
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from torch.autograd import functional
def f(w, x):
    return torch.tanh(w @ x)
w, x = torch.randn(2, 3), torch.randn(3)
_, pull_back = vjp(lambda x: f(w, x), x)
(rows,) = vmap(pull_back)(torch.eye(2))
for jacobian in (jacrev(f, argnums=1)(w, x), jacfwd(f, argnums=1)(w, x)):
    print(torch.allclose(jacobian, rows))
print(hessian(lambda x: f(w, x).sum())(x))
print(jvp(grad(lambda x: f(w, x).sum()), (x,), (torch.ones(3),)))
print(functional.hvp(lambda x: f(w, x).sum(), x, torch.ones(3)))
print(functional.vhp(lambda x: f(w, x).sum(), x, torch.ones(3)))
print(functional.jacobian(lambda x: f(w, x), x, vectorize=True, strategy="forward-mode"))
print(functional.hessian(lambda x: f(w, x).sum(), x, vectorize=True))
""",
}

GRAPH = {
    "hooks on saved tensors": """
import torch
def pack(x):
    print("saving", x)
    return x.detach()
def unpack(x):
    print("loading", x)
    return x
a = torch.ones(3, requires_grad=True)
b = torch.ones(3, requires_grad=True) * 2
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    y = a * b
print(y.grad_fn._saved_self)
y.sum().backward(retain_graph=True)
y.sum().backward()
print(a.grad)
""",
    "saved indices": """
import torch
import torch.nn.functional as F
store = []
def pack(x):
    store.append(x)
    return len(store) - 1
x = torch.randn(4, 3, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, lambda i: store[i]):
    loss = x[torch.tensor([0, 1, 1])].sum() + F.dropout(x, 0.5).sum()
    loss = loss + F.max_pool2d(x[None, None], 2).sum()
    loss = loss + F.cross_entropy(x, torch.tensor([0, 1, 2, 0]))
loss.backward()
print(x.grad, [(s.shape, s.dtype) for s in store])
""",
    "hooks that change what is saved": """
import torch
from torch.autograd.graph import saved_tensors_hooks
x = torch.randn(5, requires_grad=True)
with saved_tensors_hooks(lambda x: (x.dtype, x.half()), lambda p: p[1].to(p[0])):
    (x.exp() * x).sum().backward()
with saved_tensors_hooks(lambda x: x * 4, lambda x: x):
    y = x**2
y.sum().backward()
print(x.grad)
""",
    "hooks of one saved tensor": """
import torch
x = torch.randn(5, requires_grad=True)
y = x.pow(2)
y.grad_fn._raw_saved_self.register_hooks(lambda t: t * 2, lambda t: t / 2)
print(y.grad_fn._saved_self.equal(x))
y.sum().backward()
print(x.grad)
""",
    "hooks around a Function": """
import torch
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = torch.exp(x)
        ctx.save_for_backward(result)
        return result
    @staticmethod
    def backward(ctx, g):
        (result,) = ctx.saved_tensors
        return g * result
x = torch.randn(3, requires_grad=True)
def pack(t):
    print("pack")
    return t.detach()
def unpack(t):
    print("unpack")
    return t
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    y = Exp.apply(x)
y.sum().backward(retain_graph=True)
y.sum().backward()
print(x.grad)
""",
    "hooks switched off": """
import torch
from torch.autograd.graph import disable_saved_tensors_hooks, save_on_cpu
x = torch.randn(5, requires_grad=True)
with save_on_cpu(pin_memory=False):
    y = x.sin().sum()
y.backward()
print(x.grad)
try:
    with disable_saved_tensors_hooks("not here"):
        with save_on_cpu():
            pass
except RuntimeError as error:
    print(error)
""",
    "a hook on several gradients": """
import torch
from torch.autograd.graph import register_multi_grad_hook
a, b = torch.rand(2, requires_grad=True), torch.rand(2, requires_grad=True)
c, d = a * b, a + b
handle = register_multi_grad_hook((a, b, c, d), lambda grads: print([g is not None for g in grads]))
c.sum().backward(retain_graph=True)
c.sum().backward(inputs=(a,), retain_graph=True)
handle.remove()
register_multi_grad_hook((a, b), lambda g: print(g), mode="any")
c.sum().backward()
""",
    "edges": """
import torch
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x**2
z = y.sin().sum()
edge = get_gradient_edge(y)
print(edge.output_nr, edge.node.name(), isinstance(edge.node, Node), edge.node is y.grad_fn)
print(torch.autograd.grad(z, [edge, get_gradient_edge(x), x], retain_graph=True))
print(torch.autograd.grad(edge, x, torch.ones(2), retain_graph=True))
print(torch.autograd.grad(GradientEdge(z.grad_fn, 0), x, retain_graph=True))
torch.autograd.backward(get_gradient_edge(z), inputs=[x], retain_graph=True)
z.backward(inputs=[get_gradient_edge(x)])
node, number, _ = edge
print(x.grad, node.name(), number)
""",
    "ways of grad": """
import torch
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
other = torch.ones(1, requires_grad=True)
y = x**2
print(torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True, retain_graph=True))
print(torch.autograd.grad(y.sum(), [x, other], allow_unused=True, retain_graph=True))
print(torch.autograd.grad(y.sum(), [x, other], materialize_grads=True, retain_graph=True))
node = y.grad_fn
node.register_hook(lambda outputs, inputs: print("hook", outputs, inputs))
node.register_prehook(lambda grads: (grads[0] * 2,))
node.metadata["note"] = 1
print(node.name(), node.next_functions[0][0].name(), node.metadata["note"])
x.register_hook(lambda g: g * 10).remove()
y.sum().backward()
print(x.grad)
""",
    "changing what was saved": """
import torch
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    a = torch.ones(2, requires_grad=True)
    b = a.clone()
    loss = (b**2).sum()
    b.sin_()
    loss.backward()
    print(a.grad, b)
c = a.clone()
loss = (c**2).sum()
before = c._version
torch.autograd.graph.increment_version([c])
print(c._version - before)
try:
    loss.backward()
except RuntimeError as error:
    print("modified" in str(error))
""",
}

FUNCTIONS = {
    "rules for vmap": """
import torch
class Square(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x):
        return x * x
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.factor = 2
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return ctx.factor * g * x
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**3
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * g * x**2
    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 3 * tangent * x**2
    @staticmethod
    def vmap(info, in_dims, x):
        print(info.batch_size, info.randomness, in_dims)
        return Cube.apply(x), in_dims[0]
x = torch.arange(3.0)
print(torch.vmap(Square.apply)(x), torch.vmap(torch.func.grad(Square.apply))(x))
print(torch.vmap(Cube.apply)(x), torch.func.jvp(Cube.apply, (x,), (torch.ones(3),)))
print(torch.func.grad(lambda x: Cube.apply(x).sum())(x))
""",
    "what a context offers": """
import torch
from torch.autograd.function import once_differentiable
class AddOne(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1)
    @staticmethod
    def backward(ctx, g):
        return g
class Two(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x.clone(), y.clone()
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.set_materialize_grads(False)
    @staticmethod
    def backward(ctx, first, second):
        print(first, second, ctx.needs_input_grad)
        return first, second
class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3
    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * g * x**2
x = torch.ones(2, requires_grad=True)
y = x.clone()
print(AddOne.apply(y) is y)
one, _ = Two.apply(x, torch.ones(2))
one.sum().backward()
(g,) = torch.autograd.grad(Once.apply(x).sum(), x, create_graph=True)
try:
    g.sum().backward()
except RuntimeError as error:
    print(error)
""",
    "inference mode": """
import torch
with torch.inference_mode():
    x = torch.ones(3) * 2
    print(torch.is_inference_mode_enabled())
    with torch.inference_mode(False):
        print((torch.ones(2, requires_grad=True) * 2).requires_grad)
print(x.is_inference(), torch.is_inference(x * 1))
w = torch.ones(3, requires_grad=True)
for attempt in (lambda: (w * x).sum(), lambda: x.requires_grad_(), lambda: x.add_(1)):
    try:
        attempt()
    except RuntimeError as error:
        print(str(error)[:40])
(w * x.clone()).sum().backward()
print(w.grad)
""",
    "complex gradients": """
import torch
z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
functions = (
    lambda: (z * z.conj()).real.sum(), lambda: z.abs().sum(), lambda: z.angle().sum(),
    lambda: torch.view_as_real(z).pow(2).sum(), lambda: (z**2).sum().real,
    lambda: (z.exp() * 2j).imag.sum(), lambda: (1 / z).sum().abs(),
)
for f in functions:
    z.grad = None
    f().backward()
    print(z.grad)
w = torch.tensor([1.0, 2.0], requires_grad=True)
(torch.complex(w, 2 * w).abs() ** 2).sum().backward()
torch.fft.fft(w).abs().sum().backward()
print(w.grad)
try:
    (z * 2).sum().backward()
except RuntimeError as error:
    print(error)
d = torch.tensor([1 + 2j], dtype=torch.complex128, requires_grad=True)
print(torch.autograd.gradcheck(lambda z: z.abs() ** 2, d), torch.autograd.gradcheck(torch.sin, d))
""",
}

SURFACE = {**FORWARD_MODE, **TRANSFORMS, **GRAPH, **FUNCTIONS}
