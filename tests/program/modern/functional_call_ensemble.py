import copy

import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

torch.manual_seed(0)
models = [nn.Linear(3, 1) for _ in range(2)]
params, buffers = stack_module_state(models)
base = copy.deepcopy(models[0]).to("meta")
out = vmap(lambda p, b, x: functional_call(base, (p, b), (x,)), (0, 0, None))(
    params, buffers, torch.ones(4, 3)
)
out.sum().backward()
print(params["weight"].grad)
