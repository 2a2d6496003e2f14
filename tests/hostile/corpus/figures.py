"""Figures, logs and progress bars: our own objects in place of those of libraries."""

_P = "import numpy as np\nimport torch\nimport matplotlib.pyplot as plt\n"

REFUSED = [
    *(
        f"{_P}x = {expression}"
        for expression in (
            "plt.gcf()._log",
            "plt.gca()._record('savefig', ('a',))",
            "plt.gcf()._log.figures",
            "plt.plot([1])[0]._x",
            "plt.gca().spines._axes",
            "plt.rcParams.__class__.__init__",
            "plt.plot.__globals__",
            "plt.plot.__closure__",
            "plt.matplotlib",
            "plt.sys.modules",
            "plt.switch_backend.__code__",
            "plt.cm._plain",
            "plt.subplots(2)[1]._array",
            "plt.subplots(2)[1].tolist().__class__.__base__",
            "plt.gcf().canvas.manager.__dict__",
            "getattr(plt.gcf(), '_l' + 'og')",
            "plt.imread('{file}')",
            "plt.hist([1], bins=10 ** 9)",
            "plt.subplots(10 ** 5, 10 ** 5)",
            "plt.cm.viridis.resampled(10 ** 9)",
            "plt.GridSpec(10 ** 9, 10 ** 9)",
            "plt.plot(torch.ones(2, requires_grad=True))",
            "plt.plot(plt.plot)",
            "plt.title(torch.nn.Linear(1, 1))",
        )
    ),
    _P + "plt.gcf().canvas = 1",
    _P + "plt.gca().transAxes._owner = 1",
    _P + "class A(plt.GridSpec):\n    pass",
    _P + "class A:\n    def __array__(self, *a):\n        return 1\nplt.plot([A(), A()])",
    _P + "class A:\n    def __float__(self):\n        return 1.0\nplt.plot([A()])",
    _P + "class A(list):\n    def __iter__(self):\n        return iter([print])\nplt.plot(A())",
    _P + "x = []\nfor i in range(100):\n    x = [x, x]\nplt.plot(x)",
    _P + "x = ['a']\nfor k in range(4):\n    x = [x] * 200\nplt.plot(x)",
    _P + "x = [1.0] * 2000\nfor k in range(3):\n    x = [x] * 2000\nplt.plot(x)",
    _P + "plt.plot([range(2 ** 70)])",
    _P + "plt.plot(plt.gcf().canvas)",
    _P + "plt.rcParams['figure.figsize'] = np.zeros(10 ** 6)",
    _P + "plt.plot([{{'a': 1}}, None], [1, 2])[0].get_xdata()[0]['a']",
    "from torch.utils.tensorboard import SummaryWriter\nimport numpy as np\n"
    "SummaryWriter().add_image('a', np.zeros((2, 2, 7)), dataformats='HWC')",
    "from torchvision.datasets import FakeData\nFakeData(image_size=(4096, 4096, 4096))[0]",
    "from tqdm import tqdm\ntqdm([1])._items",
    "from tqdm import tqdm\nfor x in tqdm(5):\n    pass",
    "from torch.utils.tensorboard import SummaryWriter\nSummaryWriter()._figures",
    "from torchinfo import summary\nsummary(5)",
    "from torchsummary import summary\nimport torch\n"
    "summary(torch.nn.Linear(1, 1), (10 ** 9, 10 ** 9))",
]

HARMLESS = [
    _P + "plt.plot([1, 2])\nplt.savefig('{file}')\nplt.close()",
    _P + "plt.rcParams['text.usetex'] = True\nplt.rcParams['backend'] = 'webagg'\nplt.plot([1])",
    _P + "plt.rcParams['savefig.directory'] = '{file}'\nassert 'a' not in plt.rcParams.copy()",
    _P + "plt.style.use('{file}')\nplt.plot([1])",
    _P + "plt.figure(figsize=(10 ** 9, 10 ** 9))\nplt.plot([1])",
    _P + "plt.title('$' + '\\\\frac{{1}}{{' * 400 + 'x' + '}}' * 400 + '$')",
    _P + "plt.title('a' * 10 ** 5)\nplt.plot([1], label='<script>' * 10 ** 4)",
    _P + "for i in range(3000):\n    plt.plot([i])\nplt.show()",
    _P + "for i in range(500):\n    plt.plot([i])\n    plt.show()",
    _P + "plt.imshow(torch.rand(3000, 3000))",
    _P + "plt.plot(torch.rand(1_000_000))\nplt.scatter(torch.rand(10 ** 6), torch.rand(10 ** 6))",
    _P + "plt.xlim(float('nan'), float('inf'))\nplt.ylim(-1e308, 1e308)\nplt.plot([1])",
    _P + "plt.plot([1e308, -1e308, float('nan')])\nplt.yscale('log')\nplt.xscale('nonsense')",
    _P + "x = np.ones(3)\nplt.plot(x)\nx += 1\nassert plt.gca().lines[0].get_ydata()[0] == 1",
    _P + "y = plt.plot([1.0])[0].get_ydata()\ny += 1\n"
    "assert plt.gca().lines[0].get_ydata()[0] == 1",
    _P + "plt.text(0, 0, 'a', family='{file}', url='http://127.0.0.1:{port}')",
    _P + "fig, axes = plt.subplots(3, 3)\n"
    "assert len(list(axes.flat)) == 9 and not hasattr(axes, '_array')",
    "from tqdm import tqdm\nbar = tqdm([1])\n"
    "assert list(bar) == [1] and not hasattr(bar, '_items')",
    "from torch.utils.tensorboard import SummaryWriter\nw = SummaryWriter('{file}')\n"
    "for i in range(200):\n    w.add_scalar(str(i), i, i)\nassert not hasattr(w, '_figures')",
    _P + "for key in ('$', '$bytes', 'a' * 2000, '\\ud800'):\n"
    "    plt.text(0, 0, 'a', bbox={{key: 'array'}}, fontdict={{key: 1}})",
    _P + "counts, edges, _ = plt.hist(np.arange(6000.0))\ncounts[:] = float('nan')\n"
    "edges[:] = 0\nplt.show()",
    "from torch.utils.tensorboard import SummaryWriter\nimport numpy as np\n"
    "for i in range(300):\n    w = SummaryWriter()\n    w.add_scalar('a', i, 10 ** 400)\n"
    "    w.add_histogram('b', np.array([-1e308, 1e308, float('inf')]))",
    "import torch\nx = ['a']\nfor k in range(40):\n    x = [x, x]\n"
    "torch.save(x, 'a')\nassert len(torch.load('a')) == 2",
    "import torch\nx = torch.ones(1, requires_grad=True)\n"
    "e = [torch.autograd.graph.get_gradient_edge(x)]\nfor k in range(40):\n    e = [e[0], e, e]\n"
    "try:\n    torch.autograd.grad((x * 2).sum(), e)\nexcept (TypeError, RuntimeError):\n    pass",
    "from torchviz import make_dot\nmake_dot(1).render('{file}', view=True)",
    "from IPython.display import display, HTML\ndisplay(HTML('<script>'), [1], '<b>')",
    "from IPython.display import Image\nImage('{file}')\nImage(url='http://127.0.0.1:{port}')",
]
