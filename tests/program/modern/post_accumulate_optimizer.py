import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in net.parameters()}


def update(p):
    optimizers[p].step()
    optimizers[p].zero_grad()


for p in net.parameters():
    p.register_post_accumulate_grad_hook(update)
for _ in range(3):
    net(torch.ones(2, 3)).pow(2).mean().backward()
print(net.weight, net.weight.grad)
