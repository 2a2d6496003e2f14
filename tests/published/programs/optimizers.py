# A training loop for every optimizer: NAME and SETTINGS are filled in.

# ======== loop
import torch
import torch.nn as nn
import torch.optim as optim

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(3, 5)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(5, 2)

    def forward(self, x):
        return self.out(self.drop(torch.tanh(self.hidden(x))))

def train(net, optimizer, X, y, steps):
    criterion = nn.CrossEntropyLoss()
    losses = []
    for step in range(steps):
        def closure():
            optimizer.zero_grad()
            loss = criterion(net(X), y)
            loss.backward()
            return loss
        losses.append(optimizer.step(closure).item())
        scheduler.step()
    return losses

torch.manual_seed(3)
X, y = torch.randn(12, 3), torch.randint(0, 2, (12,))
net = Net()
matrices_only = "NAME" == "Muon"
trained = [p for p in net.parameters() if p.dim() == 2 or not matrices_only]
optimizer = optim.NAME(trained, SETTINGS)
scheduler = optim.lr_scheduler.ExponentialLR(optimizer, 0.98)
losses = train(net, optimizer, X, y, 20)
parameters = [p.data for p in net.parameters()]
rate = optimizer.param_groups[0]["lr"]
state = [{k: v for k, v in s.items() if torch.is_tensor(v)} for s in optimizer.state.values()]
