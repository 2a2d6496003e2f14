import torch
from torch.func import jvp, linearize

f = lambda x: torch.sin(x) * x
x, t = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.5])
print(jvp(f, (x,), (t,)))
value, f_jvp = linearize(f, x)
print(value, f_jvp(t))
