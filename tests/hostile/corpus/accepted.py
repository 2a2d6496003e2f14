"""Programs that ask for a GPU, other processes, files or switches, and get a stand-in: none of it
may happen. They assert themselves what must be true."""

from tests.hostile.corpus.libraries import LINER

_LINES = """
torch.compile(lambda x: x)(torch.ones(1))
torch.jit.script(lambda x: x)
torch.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:{port}")
nn.Linear(1, 1).cuda()
x = torch.ones(1); x.cuda()
p = nn.Sequential(nn.ReLU())._modules; p["b"] = nn.Linear(1, 1); p.items()[0][1]; print(p)
assert not isinstance(nn.Sequential(nn.ReLU())._modules, dict)
x = torch.ones(1); x.type("torch.cuda.FloatTensor"); x.type(torch.cuda.LongTensor)
x = torch.ones(1).to("cuda")
torch.set_num_threads(64)
torch.set_default_dtype(torch.float64)
torch.set_default_device("cuda")
torch.use_deterministic_algorithms(True)
torch.backends.cudnn.deterministic = True
torch.Generator(device="cuda")
assert torch.get_default_dtype() is torch.float32 and torch.zeros(1).dtype is torch.float32
torch.set_num_threads(64); assert torch.get_num_threads() < 64
assert not torch.backends.cudnn.deterministic and not torch.are_deterministic_algorithms_enabled()
torch.jit.script(nn.Linear(1, 1)); torch.jit.trace(print, (1,))
assert torch.compile(print) is print and torch.compile(3) == 3
D = nn.DataParallel(nn.Linear(1, 1)); D.module.to("cuda"); D.cuda()
torch.cuda.set_device(10**9); torch.cuda.Stream(device="{file}").record_event().wait(print)
torch.cuda.Event().elapsed_time(torch)
torch.accelerator.set_device_index("{file}")
d = torch.utils.data.DataLoader([1, 2], num_workers=2, timeout=3); assert d.num_workers == 0
torch.utils.data.DataLoader([1, 2], num_workers=64, worker_init_fn=print)
torch.save([1], "{file}"); assert torch.load("{file}") == [1]
import torchvision as v; v.utils.save_image(torch.ones(3, 4, 4), "{file}")
import torchvision as v; v.datasets.MNIST("{file}")
import torchvision as v; v.datasets.CIFAR10(".")[0][0].save("{file}"); v.datasets.ImageFolder("/")
from torchvision import models; models.resnet18(weights=models.ResNet18_Weights.DEFAULT)
torch.autograd.profiler.profile().export_chrome_trace("{file}")
torch.autograd.set_detect_anomaly(True)
torch.nn.modules.module.register_module_forward_hook(print)
torch.optim.Optimizer
torch.autograd.graph.save_on_cpu
torch.autograd.forward_ad
torch.ones(2, requires_grad=True).exp().grad_fn._raw_saved_result.register_hooks
import torchvision; torchvision.datasets.MNIST("{file}", download=True)
import torchvision.models as m; m.resnet18(pretrained=True)
import torchvision.models as m; m.resnet18(weights="DEFAULT")
import torchvision.models as m; m.resnet18(True)
from torch.utils.tensorboard import SummaryWriter; SummaryWriter("{file}")
torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1).register_step_post_hook(print)
assert (torch.ones(1).new_empty(9000) == 0).all()
"""

_VISION = [
    "import torchvision as v\n" + line
    for line in (
        "v.transforms.Resize((10**6, 10**6))(torch.ones(3, 2, 2))",
        "v.transforms.Pad(10**9)(torch.ones(3, 2, 2))",
        "v.transforms.Resize(4)._apply",
        "v.transforms.Resize(4)(torch)",
        "v.transforms.Normalize(torch, torch)",
        "v.transforms.functional.resize('{file}', 4)",
        "v.transforms.Lambda(3)",
        "v.datasets.MNIST('x')._real_length = 3",
        "v.datasets.MNIST('x')[torch]",
        "v.datasets.MNIST('x')[10**9]",
        "d = v.datasets.MNIST('x')\nd.data = [print]\nd[0]",
        "d = v.datasets.MNIST('x')\nd.root = 3",
        "v.datasets.CIFAR10('x')[0][0]._pixels",
        "v.datasets.CIFAR10('x')[0][0].resize((10**9, 10**9))",
        "v.datasets.CIFAR10('x')[0][0].crop((0, 0, 10**9, 10**9))",
        "v.datasets.CIFAR10('x')[0][0].convert(print)",
        "v.datasets.FakeData(3, (3, 10**6, 10**6))",
        "v.datasets.FakeData(10**9, (10**6, 10, 10))",
        "v.utils.make_grid('{file}')",
        "v.utils.make_grid(torch.ones(2, 3, 4, 4), padding=10**6)",
        "v.models.ResNet18_Weights.DEFAULT.get_state_dict()",
        "v.models.ResNet18_Weights.DEFAULT._real()",
        "v.models.ResNet18_Weights.DEFAULT.meta = 3",
        "from PIL import Image\nImage.open('{file}')",
        "from PIL import Image\nImage.new('RGB', (10**6, 10**6))",
        "from PIL import Image\nImage.fromarray(np.array(3.5))",
        "from sklearn.datasets import make_moons\nmake_moons(10**12)",
        "from sklearn.datasets import make_blobs\nmake_blobs(10, 10**10)",
        "from sklearn.datasets import make_blobs\nmake_blobs(10, centers=10**10)",
        "from sklearn.datasets import make_regression\nmake_regression(5, 5, n_targets=10**10)",
        "from sklearn.preprocessing import StandardScaler\nStandardScaler().fit([print])",
        "from sklearn.preprocessing import StandardScaler\nStandardScaler()._measure([1])",
        "from sklearn.metrics import confusion_matrix\n"
        "confusion_matrix(list(range(10**6)), list(range(10**6)))",
    )
]
#: Indices that torch would read as data while they change it.
_DATA = [
    "from torch.utils.data import ConcatDataset, DataLoader, Sampler, Subset, TensorDataset\n"
    "class I:\n    def __len__(self):\n        x.clear()\n"
    "        return 1\n    def __getitem__(self, i):\n        return 0\nx = [I(), I()]\n"
    "d = TensorDataset(torch.ones(3))\n" + line
    for line in (
        "list(DataLoader(d, sampler=[x]))",
        "list(DataLoader(d, batch_sampler=[x]))",
        "Subset(d, [0, 1])[x]",
        "s = Subset(d, [0, 1])\ns.indices[0] = x\ns.indices = x",
        "ConcatDataset([d, d])[x]",
        "Subset(d, [x])[0]",
        "DataLoader(d).sampler.data_source",
        "DataLoader(d, sampler=[1]).sampler._sampler",
        "class S(Sampler):\n    def __iter__(self):\n        yield x\n"
        "    def __len__(self):\n        return 1\nlist(DataLoader(d, sampler=S()))",
    )
]
HARMLESS = [LINER + line for line in _LINES.strip().split("\n")]
REFUSED = [
    LINER + "pass\n" + line
    for line in (
        "torch.backends.cudnn = 1",
        "nn.Sequential()._modules['forward'] = nn.ReLU()",
        "nn.Sequential()._modules['a.b'] = nn.ReLU()",
        "nn.Sequential()._modules['a'] = print",
        "nn.Sequential()._modules = {{}}",
        "nn.Sequential()._modules.clear()",
        "nn.Sequential()._modules._owner",
        "nn.Embedding.from_pretrained(3)",
        "nn.Embedding.from_pretrained.__globals__",
        "torch.backends.cudnn.flags = 1",
        "torch.cuda.is_available = print",
        "torch.nn = 3",
        "torch.version.cuda = 3",
        "torch.set_default_dtype(torch.int64)",
        "torch.set_default_tensor_type(torch)",
        "torch.backends.cudnn.benchmark.x = 3",
        "del torch.backends.cudnn.benchmark",
        "torch.cuda.Event()._time",
        "torch.cuda.Stream().__enter__.__globals__",
        "torch.compile(lambda x: x).__wrapped__",
        "print(torch.load('{file}'))",
        "print(torch.load('/etc/passwd', weights_only=False))",
        "torch.save(torch.ones(3), torch)",
        "torch.save(torch.ones(3), 3)",
        "x = []\nx.append(x)\ntorch.save(x, 'a')",
        "torch.hub.load('{file}', 'resnet18', source='local')",
        "torch.hub.load('pytorch/vision', 'os')",
        "torch.hub.load('pytorch/vision', '../x')",
        *_VISION,
        *_DATA,
    )
]
STOPPED = [
    "import torch\nx = torch.ones(10**7)\nfor i in range(10**6):\n    torch.save(x, str(i))",
    "import torch\ntorch.save([[] for _ in range(200_000)], 'a')",
    "import torch\nfor i in range(200):\n    torch.save(i, str(i))",
]
