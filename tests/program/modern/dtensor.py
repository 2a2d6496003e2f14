import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from torch.testing._internal.distributed.fake_pg import FakeStore

dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=1)
mesh = init_device_mesh("cpu", (1,))
x = torch.arange(6.0).reshape(2, 3).requires_grad_()
d = distribute_tensor(x, mesh, [Shard(0)])
(d * d).to_local().sum().backward()
print(type(d).__name__, x.grad)
dist.destroy_process_group()
