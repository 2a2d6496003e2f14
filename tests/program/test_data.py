"""Loaders, datasets, images, weights and saved copies, as scripts use them."""

import pytest

import explorer
from tests.program.compare import compare

pytestmark = pytest.mark.fast

LOADING = """
import torch
from torch.utils.data import (BatchSampler, ConcatDataset, DataLoader, Dataset, IterableDataset,
    RandomSampler, Sampler, SequentialSampler, Subset, SubsetRandomSampler, TensorDataset,
    WeightedRandomSampler, default_collate, random_split)
data = TensorDataset(torch.arange(10.).reshape(10, 1), torch.arange(10))
a, b = random_split(data, [7, 3], generator=torch.Generator().manual_seed(1))
c, d = random_split(data, [0.5, 0.5])
print(a.indices, b.indices, c.indices, len(a + b), a.dataset is data)
for x, y in DataLoader(a, batch_size=4, shuffle=True, pin_memory=False, drop_last=True):
    print(x.flatten(), y)
def numbers(loader):
    return [batch[1].tolist() for batch in loader]
print(numbers(DataLoader(Subset(data, range(3)), 2)), numbers(DataLoader(data, 4, False)))
print(numbers(DataLoader(data, 4, sampler=SubsetRandomSampler([1, 2, 3, 5, 7]))))
print(numbers(DataLoader(data, 4, sampler=WeightedRandomSampler([1.0] * 10, 6))))
print(numbers(DataLoader(data, batch_sampler=BatchSampler(SequentialSampler(data), 3, True))))
print(numbers(DataLoader(data, 5, sampler=RandomSampler(data, num_samples=4))))
joined = ConcatDataset([a, b])
print(len(joined), joined[8], joined.cumulative_sizes, Subset(data, torch.tensor([1, 4]))[1])
class Counting(IterableDataset):
    def __init__(self, n):
        self.n = n
    def __iter__(self):
        assert torch.utils.data.get_worker_info() is None
        return iter(range(self.n))
print([x for x in DataLoader(Counting(5), batch_size=2)])
class Even(Sampler):
    def __init__(self, n):
        self.n = n
    def __iter__(self):
        return iter(range(0, self.n, 2))
    def __len__(self):
        return self.n // 2
loader = DataLoader(data, batch_size=3, sampler=Even(10))
print(len(loader), len(loader.sampler), numbers(loader))
class Words(Dataset):
    def __len__(self):
        return 3
    def __getitem__(self, i):
        return {"x": torch.tensor(i), "name": "abc"[i]}
def collate(samples):
    return torch.stack([s["x"] for s in samples]), [s["name"] for s in samples]
print(list(DataLoader(Words(), 2)), list(DataLoader(Words(), 2, collate_fn=collate)))
print(default_collate([(1, 2.0), (3, 4.0)]))
"""


def test_loading_as_torch_does() -> None:
    compare(LOADING)


def test_workers_are_not_started() -> None:
    options = "num_workers=4, pin_memory=True, persistent_workers=True, prefetch_factor=2"
    trace = explorer.run(
        "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\n"
        f"for x, in DataLoader(TensorDataset(torch.ones(2)), {options}):\n    print(x)"
    )
    assert trace.output == "tensor([1.])\ntensor([1.])\n"
    assert trace.notices == ("Programs run in one process here: num_workers is 0 (line 3).",)


SAVING = """
import torch
from torch import nn
model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
optimizer = torch.optim.Adam(model.parameters())
loss = model(torch.rand(3, 2)).pow(2).sum()
loss.backward()
optimizer.step()
torch.save(model.state_dict(), "{folder}model.pth")
torch.save({{"epoch": 3, "model": model.state_dict(), "optimizer": optimizer.state_dict(),
    "loss": loss}}, "{folder}./checkpoint.pt")
before = model[0].weight.clone()
with torch.no_grad():
    model[0].weight.zero_()
fresh = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
print(fresh.load_state_dict(torch.load("{folder}model.pth", map_location="cpu", weights_only=True)))
print(torch.equal(fresh[0].weight, before), fresh[1].running_mean, fresh.training)
checkpoint = torch.load("{folder}checkpoint.pt")
print(list(checkpoint), checkpoint["epoch"], checkpoint["loss"])
optimizer.load_state_dict(checkpoint["optimizer"])
torch.save(fresh, "{folder}whole.pt")
whole = torch.load("{folder}whole.pt", weights_only=False)
print(whole, whole is fresh, torch.equal(whole[0].weight, fresh[0].weight))
whole(torch.ones(2, 2)).sum().backward()
print(whole[0].weight.grad is not None, fresh[0].weight.grad)
"""


def test_saving_as_torch_does(tmp_path) -> None:
    compare(SAVING.format(folder=f"{tmp_path}/"))


def test_what_was_saved_can_be_loaded() -> None:
    trace = explorer.run("import torch\ntorch.save({'x': 1}, 'a.pt')\nprint(torch.load('a.pt'))")
    assert (trace.output, trace.notices) == ("{'x': 1}\n", ())


TENSOR_TRANSFORMS = """
import torch, torchvision
from torchvision import transforms
from torchvision.transforms import functional as TF
import numpy as np
x = torch.rand(3, 12, 10)
for transform in (
    transforms.Normalize((0.5, 0.4, 0.3), (0.2, 0.2, 0.1)), transforms.Resize(8),
    transforms.Resize((5, 6), interpolation=transforms.InterpolationMode.NEAREST),
    transforms.CenterCrop(6), transforms.RandomCrop(8, padding=2), transforms.RandomResizedCrop(7),
    transforms.RandomHorizontalFlip(), transforms.RandomVerticalFlip(p=1), transforms.Pad(2),
    transforms.RandomRotation(20), transforms.ColorJitter(0.2, 0.2, 0.2, 0.1),
    transforms.Grayscale(), transforms.RandomErasing(p=1), transforms.GaussianBlur(3),
    transforms.RandomAffine(5, translate=(0.1, 0.1)),
):
    print(transform, transform(x).shape, transform(x).sum())
both = transforms.Compose([transforms.ToTensor(), transforms.Lambda(lambda t: 2 * t)])
image = np.arange(60).astype("uint8").reshape(5, 4, 3)
print(both(image).sum(), both(image).shape, transforms.ToTensor()(image).max())
print(TF.rotate(x, 90).shape, TF.hflip(x).sum(), TF.normalize(x, [0.5], [0.5]).mean())
print(torchvision.utils.make_grid(torch.rand(5, 3, 4, 4), nrow=2, padding=1).shape)
w = torch.rand(1, 4, 4, requires_grad=True)
transforms.Normalize((0.5,), (0.25,))(w).sum().backward()
print(w.grad)
"""


def test_transforms_of_tensors_as_torchvision_does() -> None:
    compare(TENSOR_TRANSFORMS)


CLASSIFYING = """
import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
from torchvision.transforms import v2
import numpy as np
transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
train = datasets.{name}("data", train=True, download=True, transform=transform)
test = datasets.{name}(root="data", train=False, transform=transform)
image, label = train[0]
print(image.dtype, image.shape, type(label), label == int(train.targets[0]))
print(len(train.classes), train.class_to_idx[train.classes[3]], len(train), len(test))
raw = datasets.{name}("data")[5][0]
print(raw.size, np.array(raw).dtype, np.array(raw).shape, raw.mode)
torch.manual_seed(0)
net = nn.Sequential(nn.Flatten(), nn.Linear(image.numel(), 32), nn.ReLU(), nn.Linear(32, 10))
optimizer = torch.optim.Adam(net.parameters(), 0.003)
for epoch in range(12):
    for x, y in DataLoader(train, 64, shuffle=True):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
x, y = next(iter(DataLoader(test, 128)))
right = (net(x).argmax(1) == y).float().mean()
print(right > 0.6, right.item())
"""


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["MNIST", "FashionMNIST", "CIFAR10"])
def test_a_network_learns_the_made_up_images(name: str) -> None:
    trace = explorer.run(CLASSIFYING.format(name=name))
    assert trace.error is None
    first, second, raw, learnt = trace.output.splitlines()
    size = 28 if "MNIST" in name else 32
    shape = (3, 32, 32) if size == 32 else (1, 28, 28)
    assert first == f"torch.float32 torch.Size({list(shape)}) <class 'int'> True"
    assert second == "10 3 512 128"
    assert raw.startswith(f"({size}, {size}) uint8 ({size}, {size}")
    assert learnt.startswith("tensor(True)"), learnt
    said = " ".join(trace.notices)
    assert f"{name} has 512 made-up images" in said
    assert "could not be loaded" in said


OTHERS = """
import torch
from torchvision import datasets, transforms, models
from torchvision.transforms import v2
for make, shape in ((datasets.KMNIST, (28, 28)), (datasets.CIFAR100, (32, 32))):
    assert make("x")[0][0].size == shape
svhn, stl = datasets.SVHN("x", split="test"), datasets.STL10("x", "train")
print(svhn.data.shape, len(svhn.labels), stl[3][0].size)
letters = datasets.EMNIST("x", split="digits", train=True)
folder = datasets.ImageFolder("x/train", transforms.ToTensor())
print(len(letters), folder.classes, folder[1][0].shape, len(folder.samples))
prepare = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Resize((8, 8))])
print(prepare(stl[0][0]).shape, prepare(stl[0][0]).dtype,
    transforms.ToPILImage()(torch.rand(3, 2, 5)))
print(len(torch.utils.data.random_split(letters, [200_000, 40_000])[1]), letters[30_000][1])
weights = models.ResNet18_Weights.DEFAULT
network = models.resnet18(weights=weights)
print(weights, weights.transforms()(stl[0][0]).shape, weights.meta["categories"][0])
network = torch.hub.load("pytorch/vision:v0.10.0", "resnet18", pretrained=True)
"""


def test_other_datasets_and_weights() -> None:
    trace = explorer.run(OTHERS)
    assert trace.error is None
    assert trace.output.splitlines() == [
        "(128, 3, 32, 32) 128 (96, 96)",
        "512 ['first', 'second'] torch.Size([3, 96, 96]) 128",
        "torch.Size([3, 8, 8]) torch.float32 <PIL.Image.Image image mode=RGB size=5x2>",
        f"85 {trace.output.splitlines()[3].split()[1]}",
        "ResNet18_Weights.IMAGENET1K_V1 torch.Size([3, 224, 224]) tench",
    ]
    assert "Weights are random here: trained ones could not be downloaded (lines 17, 19)." in (
        trace.notices
    )


def test_a_loop_over_a_dataset_ends_after_its_images() -> None:
    trace = explorer.run(
        "from torchvision import datasets\nimages = datasets.MNIST('x', train=False)\n"
        "print(len(images), sum(1 for image, digit in images), len(list(images)))\n"
    )
    assert trace.output == "128 128 128\n"


def test_what_starts_again_and_what_is_divided_anew_is_said() -> None:
    start = "from torch.utils.data import random_split\nfrom torchvision import datasets\n"
    notices = explorer.run(start + "datasets.MNIST('x')[1000]").notices
    assert any("start again" in sentence for sentence in notices)
    folder = start + "a, b = random_split(datasets.ImageFolder('x'), [100, 28])"
    notices = explorer.run(folder).notices
    assert [sentence.partition(" has")[0] for sentence in notices] == ["ImageFolder"]
    notices = explorer.run(start + "random_split(datasets.MNIST('x'), [50_000, 10_000])").notices
    assert any("keeps the proportions" in sentence for sentence in notices)


def test_images_are_the_same_in_every_run() -> None:
    source = "from torchvision import datasets\nprint(datasets.MNIST('x').data.sum())\n"
    changed = source + "data = datasets.MNIST('x')\ndata.data.zero_()\nprint(data.data.sum())"
    assert explorer.run(source).output in explorer.run(changed).output
    assert explorer.run(source).output == explorer.run(source).output != "tensor(0)\n"


#: The examples of scikit-learn's own documentation, and what it says of them.
SCIKIT_LEARN = """
from sklearn.datasets import make_blobs, make_circles, make_moons, make_regression
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler, StandardScaler
import numpy as np
X, y = make_blobs(n_samples=10, centers=3, n_features=2, random_state=0)
assert y.tolist() == [0, 0, 1, 0, 2, 2, 2, 1, 1, 0], y
X, y = make_regression(n_samples=5, n_features=2, noise=1, random_state=42)
assert np.allclose(X[0], [0.4967, -0.1382], atol=1e-4), X
assert np.allclose(y, [6.737, 37.79, -10.27, 0.4017, 42.22], rtol=1e-3), y
X, y = np.arange(10).reshape((5, 2)), list(range(5))
a, b, c, d = train_test_split(X, y, test_size=0.33, random_state=42)
assert a.tolist() == [[4, 5], [0, 1], [6, 7]] and b.tolist() == [[2, 3], [8, 9]]
assert c == [2, 0, 3] and d == [1, 4]
X, y = make_moons(200, noise=0.1, random_state=0)
assert X.shape == (200, 2) and y.sum() == 100 and abs(X[y == 0][:, 1].mean() - 0.63) < 0.05
X, y = make_circles((20, 30), factor=0.5, random_state=0)
assert np.allclose(np.sqrt((X**2).sum(1)), np.where(y == 0, 1, 0.5))
scaler = StandardScaler()
Z = scaler.fit_transform([[0, 0], [0, 0], [1, 1], [1, 1]])
assert Z.tolist() == [[-1, -1], [-1, -1], [1, 1], [1, 1]] and scaler.mean_.tolist() == [0.5, 0.5]
assert scaler.transform([[2, 2]]).tolist() == [[3, 3]]
scaled = MinMaxScaler().fit_transform([[-1, 2], [-0.5, 6], [0, 10], [1, 18]])
assert scaled.tolist()[1] == [0.25, 0.25]
counts = confusion_matrix([2, 0, 2, 2, 0, 1], [0, 0, 2, 2, 0, 2])
assert counts.tolist() == [[2, 0, 0], [0, 0, 1], [1, 0, 2]]
assert accuracy_score([0, 1, 2, 3], [0, 2, 1, 3]) == 0.5
assert StandardScaler(with_mean=False).fit_transform([[1.0], [3.0]]).tolist() == [[1], [3]]
assert StandardScaler(with_std=False).fit_transform([[1.0], [3.0]]).tolist() == [[-1], [1]]
assert MinMaxScaler(clip=True).fit([[0.0], [1.0]]).transform([[2.0]]).tolist() == [[1]]
train, test = train_test_split(np.arange(20), stratify=np.arange(20) % 2, test_size=0.5)
assert (test % 2).sum() == 5
"""
