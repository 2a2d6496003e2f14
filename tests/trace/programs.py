"""Small programs whose values and gradients are compared with plain PyTorch."""

LEAF = "import torch\nx = torch.tensor([[1., -2.], [3., 0.5]], requires_grad=True)\n"
TWO = LEAF + "w = torch.tensor([[0.5, 1.], [-1., 2.]], requires_grad=True)\n"
NN = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"

PROGRAMS = {
    "sum": LEAF + "y = x.sum()\ny.backward()",
    "mean_dim": LEAF + "y = x.mean(dim=1)\nz = y.sum()\nz.backward()",
    "product": LEAF + "y = x.prod()\ny.backward()",
    "matmul": TWO + "y = x @ w\nloss = (y * y).sum()\nloss.backward()",
    "division": TWO + "y = x / w\nloss = y.sum()\nloss.backward()",
    "power": LEAF + "y = x**3\nloss = y.mean()\nloss.backward()",
    "exp_log": LEAF + "y = (x.abs() + 1).log().exp()\nloss = y.sum()\nloss.backward()",
    "sigmoid_tanh": LEAF + "a = torch.sigmoid(x)\nb = torch.tanh(a)\nb.sum().backward()",
    "relu": LEAF + "a = torch.relu(x)\nloss = a.sum()\nloss.backward()",
    "softmax": LEAF + "p = torch.softmax(x, dim=1)\nloss = p[:, 0].sum()\nloss.backward()",
    "shared": LEAF + "a = x * 2\nb = x * 3\nc = a * b\nloss = c.sum()\nloss.backward()",
    "diamond": LEAF + "a = x.exp()\nb = a + a * a\nloss = b.mean()\nloss.backward()",
    "broadcast": TWO + "b = torch.ones(2, requires_grad=True)\nloss = (x * w + b).sum()\n"
    "loss.backward()",
    "broadcast_silent": "import torch\na = torch.arange(3.).reshape(3, 1).requires_grad_()\n"
    "b = torch.arange(3.)\nd = a - b\nloss = (d**2).mean()\nloss.backward()",
    "index": LEAF + "y = x[0] * x[1]\nloss = y.sum()\nloss.backward()",
    "slice": LEAF + "y = x[:, 1:]\nloss = (y**2).sum()\nloss.backward()",
    "gather": LEAF + "i = torch.tensor([[0], [1]])\ny = x.gather(1, i)\ny.sum().backward()",
    "cat": TWO + "y = torch.cat([x, w], dim=1)\nloss = (y**2).sum()\nloss.backward()",
    "stack": TWO + "y = torch.stack([x, w])\nloss = y.norm()\nloss.backward()",
    "reshape": LEAF + "y = x.reshape(4)\nz = y.view(1, 4) @ y.view(4, 1)\nz.backward()",
    "transpose": LEAF + "y = x.T @ x\nloss = torch.trace(y)\nloss.backward()",
    "max": LEAF + "y = x.max()\ny.backward()",
    "max_dim": LEAF + "values, places = x.max(dim=1)\nloss = values.sum()\nloss.backward()",
    "max_tie": "import torch\nx = torch.tensor([2., 2., 1.], requires_grad=True)\n"
    "y = x.max()\ny.backward()",
    "where": LEAF + "y = torch.where(x > 0, x, x * 0.1)\nloss = y.sum()\nloss.backward()",
    "clamp": LEAF + "y = x.clamp(-1, 1)\nloss = (y * 2).sum()\nloss.backward()",
    "detach": LEAF + "y = x * 2\nd = y.detach()\nloss = (y * d).sum()\nloss.backward()",
    "no_grad": LEAF + "with torch.no_grad():\n    c = x * 2\nloss = (x * c).sum()\nloss.backward()",
    "data_write": LEAF + "loss = (x**2).sum()\nloss.backward()\nx.data -= 0.1 * x.grad",
    "twice_accumulates": LEAF + "a = x.sum()\nb = (x * 2).sum()\na.backward()\nb.backward()",
    "retain_graph": LEAF + "y = (x**2).sum()\ny.backward(retain_graph=True)\ny.backward()",
    "upstream": LEAF + "y = x**2\ny.backward(torch.ones_like(y))",
    "several_outputs": LEAF + "a = x.sum()\nb = x.prod()\ntorch.autograd.backward([a, b])",
    "autograd_grad": LEAF + "y = (x**2).sum()\ng, = torch.autograd.grad(y, x)\nprint(g)",
    "create_graph": "import torch\nx = torch.tensor(2., requires_grad=True)\ny = x**3\n"
    "y.backward(create_graph=True)\ng = x.grad.detach().clone()",
    "second_derivative": "import torch\nx = torch.tensor(2., requires_grad=True)\ny = x**4\n"
    "g, = torch.autograd.grad(y, x, create_graph=True)\nh, = torch.autograd.grad(g, x)\nprint(h)",
    "never_backward": LEAF + "loss = (x**2).mean()",
    "user_hook": LEAF + "y = x * 2\ny.register_hook(lambda g: g * 10)\ny.sum().backward()",
    "print_hook": LEAF + "y = x * 2\ny.register_hook(print)\ny.mean().backward()",
    "hook_function": LEAF + "def double(g):\n    return g * 2\nx.register_hook(double)\n"
    "loss = x.sum()\nloss.backward()",
    "retain_grad": LEAF + "y = x * 2\ny.retain_grad()\nloss = (y**2).sum()\nloss.backward()\n"
    "print(y.grad)",
    "in_place": LEAF + "y = x * 2\ny += 1\nloss = (y**2).sum()\nloss.backward()",
    "clone": LEAF + "y = x.clone()\ny[0, 0] = 5.\nloss = (y**2).sum()\nloss.backward()",
    "function": LEAF + "def f(a, b=2):\n    c = a * b\n    return c.sum()\nloss = f(x)\n"
    "loss.backward()",
    "loop": LEAF
    + "y = x\nfor i in range(4):\n    y = y * 1.5 + i\nloss = y.mean()\nloss.backward()",
    "branch": LEAF + "if x.sum() > 0:\n    y = x * 2\nelse:\n    y = x * 3\nloss = y.sum()\n"
    "loss.backward()\nprint(f'{loss.item():.2f}')",
    "gradient_descent": "import torch\nw = torch.tensor(10., requires_grad=True)\n"
    "for i in range(5):\n    (w**2).backward()\n    with torch.no_grad():\n"
    "        w -= 0.2 * w.grad\n    w.grad.zero_()\nprint(w)",
    "mse": TWO + "loss = torch.nn.functional.mse_loss(x, w)\nloss.backward()",
    "cross_entropy": NN + "x = torch.tensor([[1., 2., 0.]], requires_grad=True)\n"
    "t = torch.tensor([2])\nloss = F.cross_entropy(x, t)\nloss.backward()",
    "linear": NN + "x = torch.randn(3, 2)\nw = torch.randn(4, 2, requires_grad=True)\n"
    "b = torch.zeros(4, requires_grad=True)\ny = F.linear(x, w, b)\nloss = y.pow(2).mean()\n"
    "loss.backward()",
    "layer_norm": NN + "x = torch.randn(2, 5, requires_grad=True)\ny = F.layer_norm(x, (5,))\n"
    "loss = (y**3).sum()\nloss.backward()",
    "convolution": NN
    + "x = torch.randn(1, 1, 5, 5)\nk = torch.randn(2, 1, 3, 3, requires_grad=True)"
    "\ny = F.conv2d(x, k)\nloss = F.relu(y).sum()\nloss.backward()",
    "large": "import torch\nx = torch.randn(100, 100, requires_grad=True)\ny = torch.tanh(x @ x)\n"
    "loss = y.mean()\nloss.backward()",
    "float64": "import torch\nx = torch.tensor([0.1, 0.2], dtype=torch.float64).requires_grad_()\n"
    "y = torch.sin(x) * torch.cos(x)\ny.sum().backward()",
    "custom_function": "import torch\nclass Cube(torch.autograd.Function):\n    @staticmethod\n"
    "    def forward(ctx, a):\n        ctx.save_for_backward(a)\n        return a**3\n"
    "    @staticmethod\n    def backward(ctx, g):\n        a, = ctx.saved_tensors\n"
    "        return 3 * a**2 * g\nx = torch.tensor([1., 2.], requires_grad=True)\n"
    "y = Cube.apply(x)\ny.sum().backward()",
}
