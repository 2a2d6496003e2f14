import torch
from torch.utils.flop_counter import FlopCounterMode

layer = torch.nn.Linear(8, 4, bias=False)
with FlopCounterMode(display=False) as counter:
    layer(torch.ones(2, 8)).sum().backward()
print(counter.get_total_flops())
