import torch

torch.manual_seed(0)
for options in ({"foreach": True}, {"fused": True}, {"foreach": False}):
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.AdamW([w], lr=0.1, **options)
    (w**2).sum().backward()
    optimizer.step()
    print(w)
