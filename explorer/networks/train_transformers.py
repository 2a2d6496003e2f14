"""Train the transformers and write their weights; takes a few minutes on one core.

python -m explorer.networks.train_transformers
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional as F

from explorer.networks.synthetic_images import CLASSES, draw
from explorer.networks.train_shapes_net import flip_randomly
from explorer.networks.transformers import (
    ALPHABET,
    PATCH,
    SIDE,
    Transformer,
    VisionTransformer,
    to_tokens,
    weights_file,
)

Batches = Callable[[], tuple[Tensor, Tensor]]


def train(model: nn.Module, batches: Batches, steps: int, lr: float) -> None:
    """Adam with a one-cycle learning rate on `steps` batches."""
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, total_steps=steps)
    for step in range(steps):
        inputs, targets = batches()
        loss = F.cross_entropy(model(inputs).flatten(0, -2), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 250 == 249:
            print(f"step {step + 1} of {steps}: loss {loss.item():.4f}", flush=True)


def write(model: nn.Module, name: str, accuracy: Tensor) -> None:
    """Save the weights with the fraction of new samples that are right."""
    print(f"{name}: {accuracy:.4f} of new samples right")
    metadata = {"test_accuracy": f"{accuracy:.4f}"}
    save_file(model.state_dict(), weights_file(name), metadata=metadata)


def train_transformer(causal: bool, name: str) -> None:
    """Random words of six letters, each followed by its letters in reverse order."""
    torch.manual_seed(0)
    model = Transformer(len(ALPHABET), 12, causal)

    def words() -> tuple[Tensor, Tensor]:
        return to_tokens(torch.randint(0, 26, (128, 6)))

    train(model, words, 500, 4e-3)
    inputs, targets = words()
    with torch.no_grad():
        right = (model(inputs)[:, 6:].argmax(-1) == targets[:, 6:]).float().mean()
    write(model, name, right)


def train_vision_transformer() -> None:
    """Drawn images, flipped at random."""
    torch.manual_seed(0)
    model = VisionTransformer(len(CLASSES), SIDE, PATCH)
    images, labels = (torch.from_numpy(part) for part in draw(9600, SIDE, seed=1))
    test_images, test_labels = (torch.from_numpy(part) for part in draw(1200, SIDE, seed=2))

    def batch() -> tuple[Tensor, Tensor]:
        chosen = torch.randint(0, len(images), (64,))
        return flip_randomly(images[chosen]), labels[chosen]

    train(model, batch, 6000, 3e-3)
    with torch.no_grad():
        right = (model(test_images).argmax(1) == test_labels).float().mean()
    write(model, "vision_transformer", right)


def main() -> None:
    """Train all three."""
    torch.set_num_threads(1)
    train_transformer(True, "transformer")
    train_transformer(False, "transformer_unmasked")
    train_vision_transformer()


if __name__ == "__main__":
    main()
