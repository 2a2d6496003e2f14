import torch
import torch.autograd.forward_ad as fwAD

x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0])
with fwAD.dual_level():
    dual = fwAD.make_dual(x, v)
    out = fwAD.unpack_dual((dual**3).sum())
print(out.primal, out.tangent)
