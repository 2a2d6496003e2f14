import subprocess
import sys


def test_import_works_in_a_fresh_process():
    """Also by torchvision's own name afterwards; a model and a transform really run."""
    program = (
        "from explorer.torchvision_guard import torchvision as ours\n"
        "import torch, torchvision\n"
        "assert ours is torchvision\n"
        "from torchvision.models import resnet18\n"
        "from torchvision.transforms.v2 import functional\n"
        "assert functional.resize(torch.zeros(3, 8, 8), [4, 4]).shape == (3, 4, 4)\n"
        "assert resnet18().eval()(torch.zeros(1, 3, 32, 32)).shape == (1, 1000)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
