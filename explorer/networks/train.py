"""Train the networks whose weights are part of this project, and write them: some minutes on one
core.

python -m explorer.networks.train
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional as F

from explorer.networks.image_networks import IMAGE_SIZE, WEIGHTS, ShapesNet
from explorer.networks.synthetic_images import CLASSES, draw
from explorer.networks.transformers import (
    ALPHABET,
    PATCH,
    SIDE,
    Transformer,
    VisionTransformer,
    to_tokens,
    weights_file,
)

Batch = tuple[Tensor, Tensor]
TRAIN_SEED, TEST_SEED = 1, 2


def make_data(n: int, size: int, seed: int) -> Batch:
    """`n` drawn images and their labels as tensors."""
    images, labels = draw(n, size, seed)
    return torch.from_numpy(images), torch.from_numpy(labels)


def flip_randomly(images: Tensor) -> Tensor:
    """Flip and transpose each batch at random: eight variants of each image, in the same class."""
    flips = [axis for axis in (2, 3) if torch.rand(()) < 0.5]
    images = images.flip(flips)
    return images.mT if torch.rand(()) < 0.5 else images


@torch.no_grad()
def accuracy(model: nn.Module, images: Tensor, labels: Tensor) -> float:
    """The fraction of `images` whose highest score is that of their label."""
    model.eval()
    correct = [
        (model(x).argmax(1) == y).sum()
        for x, y in zip(images.split(200), labels.split(200), strict=True)
    ]
    return float(sum(correct)) / len(labels)


def train(model: nn.Module, batches: Iterable[Batch], steps: int, lr: float, decay: float) -> None:
    """AdamW with a one-cycle learning rate, a step for each batch."""
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, total_steps=steps)
    for step, (inputs, targets) in enumerate(batches, 1):
        loss = F.cross_entropy(model(inputs).flatten(0, -2), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 250 == 0:
            print(f"step {step} of {steps}: loss {loss.item():.4f}", flush=True)


def write(model: nn.Module, file: Path, right: float) -> None:
    """Save the weights with the fraction of new samples that are right."""
    print(f"{file.stem}: {right:.4f} of new samples right")
    save_file(model.state_dict(), file, metadata={"test_accuracy": f"{right:.4f}"})


def train_shapes_net() -> None:
    """Drawn images, flipped at random, in epochs."""
    torch.manual_seed(0)
    # A third faster on a CPU than the default memory layout, with the same numbers.
    model: Any = ShapesNet().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    images, labels = make_data(9600, IMAGE_SIZE, TRAIN_SEED)

    def batches() -> Iterator[Batch]:
        for _ in range(10):
            for batch in torch.randperm(len(images)).split(32):
                yield flip_randomly(images[batch]), labels[batch]

    train(model, batches(), 3000, 4e-3, 0.0)
    model = model.to(memory_format=torch.contiguous_format)
    write(model, WEIGHTS, accuracy(model, *make_data(2400, IMAGE_SIZE, TEST_SEED)))


def train_transformer(causal: bool, name: str) -> None:
    """Random words of six letters, each followed by its letters in reverse order."""
    torch.manual_seed(0)
    model = Transformer(len(ALPHABET), 12, causal)

    def words() -> Batch:
        return to_tokens(torch.randint(0, 26, (128, 6)))

    train(model, (words() for _ in range(500)), 500, 4e-3, 0.01)
    inputs, targets = words()
    with torch.no_grad():
        right = (model(inputs)[:, 6:].argmax(-1) == targets[:, 6:]).float().mean()
    write(model, weights_file(name), float(right))


def train_vision_transformer() -> None:
    """Drawn images, flipped at random."""
    torch.manual_seed(0)
    model = VisionTransformer(len(CLASSES), SIDE, PATCH)
    images, labels = make_data(9600, SIDE, TRAIN_SEED)

    def batch() -> Batch:
        chosen = torch.randint(0, len(images), (64,))
        return flip_randomly(images[chosen]), labels[chosen]

    train(model, (batch() for _ in range(6000)), 6000, 3e-3, 0.01)
    test = make_data(1200, SIDE, TEST_SEED)
    write(model, weights_file("vision_transformer"), accuracy(model, *test))


def main() -> None:
    """Train all four."""
    torch.set_num_threads(1)
    train_shapes_net()
    train_transformer(True, "transformer")
    train_transformer(False, "transformer_unmasked")
    train_vision_transformer()


if __name__ == "__main__":
    main()
