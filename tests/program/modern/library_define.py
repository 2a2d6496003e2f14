import torch

library = torch.library.Library("probe_lib", "DEF")
library.define("cube(Tensor x) -> Tensor")
library.impl("cube", lambda x: x.clone() ** 3, "CompositeImplicitAutograd")
x = torch.tensor([1.0, -2.0], requires_grad=True)
torch.ops.probe_lib.cube(x).sum().backward()
print(x.grad)
