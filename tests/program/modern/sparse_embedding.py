import torch

torch.manual_seed(0)
table = torch.nn.Embedding(6, 2, sparse=True)
optimizer = torch.optim.SparseAdam(list(table.parameters()), lr=0.1)
table(torch.tensor([1, 4, 1])).sum().backward()
print(table.weight.grad.coalesce().values())
optimizer.step()
print(table.weight[1])
