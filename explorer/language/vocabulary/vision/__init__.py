"""What programs use of torchvision and PIL: images, transforms, datasets and weights.

No file is read and nothing is downloaded: images are drawn, and weights are random.
"""

from __future__ import annotations

from typing import Any

from explorer.language.vocabulary.vision import datasets, images, transforms, weights

ADDED: dict[str, tuple[str, Any]] = transforms.ADDED | datasets.ADDED | images.ADDED | weights.ADDED
