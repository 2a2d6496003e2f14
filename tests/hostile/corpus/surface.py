"""Programs against what autograd calls and hands out: hooks on what it saves, edges, tangents.

Autograd's C++ code compares little of what a hook returns with what it was given.
"""

_HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import forward_ad, graph
x = torch.rand(4, 3, requires_grad=True)
index = torch.tensor([[0, 1, 2], [1, 0, 2]])
big = torch.ones(100000)
class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, i):
        ctx.save_for_backward(i)
        return x.gather(0, i)
    @staticmethod
    def backward(ctx, g):
        i, = ctx.saved_tensors
        return torch.zeros(4, 3).scatter_add(0, i, g), None
"""

#: Operations whose backward uses saved integers as indices, or trusts a shape.
_SAVING = (
    "x[index[0]]",
    "x.gather(0, index)",
    "x.index_select(0, index[0])",
    "x.sort(0).values",
    "x.max(0).values",
    "x.topk(2).values",
    "x.median(0).values",
    "x.cummax(0).values",
    "F.embedding(index, x)",
    "F.max_pool2d(x[None], 2)",
    "F.max_pool1d(x[None], 2)",
    "F.adaptive_max_pool2d(x[None], 2)",
    "F.nll_loss(x, index[0].repeat(2)[:4])",
    "F.multi_margin_loss(x, index[0].repeat(2)[:4])",
    "F.cross_entropy(x, index[0].repeat(2)[:4])",
    "x.scatter(0, index, x[:2] * 2)",
    "x.index_add(0, index[0], x[:3] * 2)",
    "torch.linalg.solve(x[:3], x[:3])",
    "Own.apply(x, index)",
)
#: What an unpack hook may return in place of the integers it was given.
_INSTEAD = ("t + 10**9", "t - 10**9", "t.repeat(3, *[1] * (t.dim() - 1))", "t.double()")

_UNPACKED = [
    f"{_HEAD}with graph.saved_tensors_hooks(lambda t: t, lambda t: t if t.is_floating_point() "
    f"else {value}):\n    y = {operation}\ny.sum().backward()"
    for number, operation in enumerate(_SAVING)
    for value in (_INSTEAD[number % 4], _INSTEAD[(number + 1) % 4])
]

#: What an unpack hook may return in place of floating-point numbers.
_FLOATS = [
    f"{_HEAD}with graph.saved_tensors_hooks(lambda t: t, lambda t: {value}):\n"
    f"    y = {operation}\ny.sum().backward()"
    for operation in ("x.exp()", "F.layer_norm(x, (3,))", "torch.cdist(x, x + 1)")
    for value in ("t.reshape(-1)[:1]", "big", "t.to(torch.float16)", "t.to_sparse()", "None", "3")
]

REFUSED = [
    *_UNPACKED,
    *_FLOATS,
    *(
        _HEAD + text
        for text in (
            "y = x.gather(0, index)\ny.grad_fn._raw_saved_index.register_hooks(lambda t: t, "
            "lambda t: t + 10**9)\ny.sum().backward()",
            "y = F.rrelu(x)\ny.grad_fn._raw_saved_noise",
            "y = F.grid_sample(x[None, None], torch.rand(1, 9, 9, 2), padding_mode='border')\n"
            "y.grad_fn._raw_saved_grid.register_hooks(lambda t: t, lambda t: t)",
            "def pack(t):\n    raise ValueError(t)\n"
            "with graph.saved_tensors_hooks(pack, lambda t: t):\n    x * x",
            "def unpack(t):\n    y.sum().backward(retain_graph=True)\n    return t\n"
            "with graph.saved_tensors_hooks(lambda t: t, unpack):\n    y = x * x\n"
            "y.sum().backward()",
            "def unpack(t):\n    kept = t.clone()\n    t.data = torch.ones(1, dtype=t.dtype)\n"
            "    return kept\n"
            "with graph.saved_tensors_hooks(lambda t: t.clone(), unpack):\n"
            "    y = x.gather(0, index)\ny.sum().backward()\nassert x.grad.sum() == 6",
            "last = []\ndef unpack(t):\n    for old in last:\n"
            "        old.data = torch.ones(1, dtype=old.dtype)\n    last.append(t)\n    return t\n"
            "w = torch.rand(4, 3, requires_grad=True)\n"
            "with graph.saved_tensors_hooks(lambda t: t.detach().clone(), unpack):\n"
            "    y = (x * w).sum()\ny.backward()\nassert x.grad.equal(w)",
            "graph.saved_tensors_hooks(lambda t: t, lambda t: t)._hooks",
            "graph.saved_tensors_hooks(lambda t: t, lambda t: t).pack_hook",
            "graph.save_on_cpu()._hooks",
            "graph.allow_mutation_on_saved_tensors()._manager",
            "with graph.allow_mutation_on_saved_tensors() as c:\n    c._context",
            "with graph.allow_mutation_on_saved_tensors() as c:\n    c.original",
            "(x * x).grad_fn._raw_saved_self._node",
            "(x * x).grad_fn._raw_saved_self.data",
            "(x * x).grad_fn._input_metadata",
            "graph.GradientEdge((x * 2).grad_fn, 1)",
            "graph.GradientEdge((x * 2).grad_fn, 2**40)",
            "graph.GradientEdge((x * 2).grad_fn, True)",
            "graph.GradientEdge(x, 0)",
            "graph.GradientEdge(None, 0)",
            "graph.get_gradient_edge(x * 2).output_nr = 9",
            "graph.get_gradient_edge(x * 2).node = 9",
            "graph.get_gradient_edge(Own.apply(x, index))._token",
            "graph.get_gradient_edge(x * 2).ownership_token",
            "graph.get_gradient_edge(x * 2).node(x)",
            "graph.get_gradient_edge(3)",
            "class E(graph.GradientEdge):\n    pass",
            "graph.Node()",
            "graph._engine_run_backward",
            "graph.torch",
            "forward_ad.os",
            "forward_ad._set_fwd_grad_enabled(False)",
            "graph.register_multi_grad_hook((1, 2), print)",
            "graph.register_multi_grad_hook(iter(int, 1), print)",
            "graph.register_multi_grad_hook([x], lambda g: {{}}.y)\nx.sum().backward()",
            "graph.increment_version(iter(int, 1))",
            "graph.increment_version('x')",
            "graph.disable_saved_tensors_hooks(print)",
            "forward_ad.make_dual(1, 2)",
            "with forward_ad.dual_level():\n    forward_ad.make_dual(x, big)",
            "with forward_ad.dual_level():\n    forward_ad.make_dual(x, x, level=7)",
            "with forward_ad.dual_level():\n    forward_ad.make_dual(x, x, level=2**70)",
            "with forward_ad.dual_level():\n    forward_ad.make_dual(x, x).data = big",
            "with forward_ad.dual_level():\n    y = x.detach()\n"
            "    z = forward_ad.make_dual(y, y)\n    y.data = big\n    z.data = big",
            "with forward_ad.dual_level():\n    with forward_ad.dual_level():\n        pass",
            "forward_ad.exit_dual_level()",
            "forward_ad.UnpackedDualTensor(1, 2)",
            "forward_ad.unpack_dual(x)._replace(tangent=3)",
            "forward_ad.unpack_dual(x)._make",
            "torch.distributions.VonMises(0., float('inf'), validate_args=False).sample()",
            "torch.distributions.VonMises(0., 1e100).sample()",
            "torch.distributions.Multinomial(10 ** 9, torch.ones(3)).sample()",
            "torch.func.linearize(print, 3)",
            "torch.func.linearize(lambda x: x, x)[1](big)",
            "torch.func.stack_module_state([1])",
            "torch.func.functionalize(print, remove='x')",
            "kept = []\ntorch.vmap(lambda t: kept.append(t) or t)(x)\nprint(kept[0] * 2)",
            "kept = []\ntorch.func.grad(lambda t: kept.append(t) or t.sum())(x)\n"
            "torch.vmap(lambda t: t * kept[0].sum(-5))(x)",
            "class F(torch.autograd.Function):\n    generate_vmap_rule = True\n    @staticmethod\n"
            "    def forward(x):\n        return x\n    @staticmethod\n"
            "    def setup_context(ctx, inputs, output):\n        ctx._pt_inner_ctx\n"
            "torch.vmap(F.apply)(x)",
            "class F(torch.autograd.Function):\n    generate_vmap_rule = True\n    @staticmethod\n"
            "    def forward(x):\n        return x\n    @staticmethod\n"
            "    def setup_context(ctx, inputs, output):\n        ctx.save_for_backward = print\n"
            "torch.vmap(F.apply)(x)",
            # what saved tensors have become since, where they may change
            *(
                "with graph.allow_mutation_on_saved_tensors():\n    y = "
                f"{saving}\n    w.data = torch.ones(1)\n    y.sum().backward()"
                for saving in (
                    "F.batch_norm(x, torch.zeros(3), torch.ones(3), w := torch.ones("
                    "3, requires_grad=True))",
                    "F.layer_norm(x, (3,), w := torch.ones(3, requires_grad=True))",
                    "torch.cdist(x, w := torch.rand(4, 3, requires_grad=True))",
                )
            ),
        )
    ),
]

#: They assert that nothing was seen or changed.
HARMLESS = [
    _HEAD + text
    for text in (
        # what a hook changes does not reach backward
        "def pack(t):\n    if not t.is_floating_point():\n        kept = t.clone()\n"
        "        t.data.fill_(10**9)\n        return kept\n    return t\n"
        "with graph.saved_tensors_hooks(pack, lambda t: t):\n    y = x.gather(0, index)\n"
        "y.sum().backward()\nassert x.grad.sum() == 6",
        # what was never filled, and what is used as an address, is not packed
        "seen = []\nwith graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):\n"
        "    F.rrelu(x)\n    nn.RReLU().eval()(x)\n    nn.LSTM(3, 5)(x)\n"
        "    F.grid_sample(x[None, None], torch.rand(1, 9, 9, 2), padding_mode='border')\n"
        "assert not seen",
        "with graph.saved_tensors_hooks(lambda t: t, lambda t: t * float('nan')):\n"
        "    y = F.grid_sample(x[None, None], torch.rand(1, 9, 9, 2), padding_mode='border')\n"
        "y.sum().backward()\nassert x.grad.isfinite().all()",
        # levels and hooks
        "def pack(t):\n    with graph.saved_tensors_hooks(pack, lambda t: t):\n"
        "        y = x * x\n    return t\n"
        "with graph.saved_tensors_hooks(pack, lambda t: t):\n    x * x",
        "forward_ad.enter_dual_level()\nforward_ad.make_dual(x, x)",
        "for _ in range(50):\n    graph.increment_version(x.detach())",
        "edge = graph.get_gradient_edge(x * 2)\nassert 'object at 0x' not in repr(edge.output_nr)",
        "assert torch.ones(2, device='meta').device.type == 'cpu'",
        "assert torch.ones(2).to('meta').sum() == 2",
        "assert x.new_ones(2, device=torch.device('meta')).sum() == 2",
        "assert nn.Linear(2, 2, device='meta').weight.device.type == 'cpu'",
        "assert nn.Linear(2, 2).to('meta').weight.device.type == 'cpu'",
        "with torch.device('meta'):\n    assert torch.ones(2).sum() == 2",
        "assert torch.tensor([1.0], device='meta').expand(3).sum() == 3",
        "torch.set_default_device('meta')\nassert torch.ones(2).sum() == 2",
    )
]

#: They do not end by themselves.
ENDLESS = [
    _HEAD + text
    for text in (
        "def pack(t):\n    while True:\n        pass\n"
        "with graph.saved_tensors_hooks(pack, lambda t: t):\n    x * x",
        "def unpack(t):\n    while True:\n        pass\n"
        "with graph.saved_tensors_hooks(lambda t: t, unpack):\n    y = x * x\ny.sum().backward()",
        "def hook(g):\n    while True:\n        pass\n"
        "graph.register_multi_grad_hook([x], hook)\nx.sum().backward()",
        "def again(t):\n    with forward_ad.dual_level():\n        while True:\n"
        "            forward_ad.make_dual(t, t)\nagain(x)",
    )
]
REFUSED, HARMLESS, ENDLESS = (
    [text.replace("{{", "{").replace("}}", "}").replace("{", "{{").replace("}", "}}") for text in t]
    for t in (REFUSED, HARMLESS, ENDLESS)
)
