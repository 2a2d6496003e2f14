# TestNet: the network, what runs it, and two programs with hooks.

# ======== net
import torch
import torch.nn as nn

class TestNet(nn.Module):
    def __init__(self, last=True):
        super(TestNet, self).__init__()
        self.linear = nn.Linear(4, 1)
        self.linear.weight.data = torch.full((1, 4), 4.)
        nn.init.constant_(self.linear.bias, 0.1)
        self.last = last

    def forward(self, input):
        output = input * 0.75
        output = self.linear(output)
        if self.last:
            output = output / 4
        return output

def hook_function(module, grad_input, grad_output):
    print("grad_input", grad_input)
    print("grad_output", grad_output)

def times_100(module, grad_input, grad_output):
    return tuple(g * 100 if g is not None else None for g in grad_input)

input = torch.tensor([1., 2., 3., 4.], requires_grad=True)
net = TestNet()

# ======== rest
result = net(input)
result.backward()
print(result)
print(input.grad)
print(net.linear.weight.grad, net.linear.bias.grad)

# ======== four
features = []

class Watch:
    def __init__(self, name):
        self.name = name
    def forward(self, module, inputs, output):
        features.append((self.name, output.item()))

net.linear.register_forward_hook(Watch("linear").forward)
net.register_forward_hook(Watch("net").forward)
net.register_forward_pre_hook(lambda module, inputs: print("before", inputs[0].shape))
input.register_hook(print)
net(input).backward()
print(features)

# ======== summary
import torch
import torch.nn as nn

def summary(model, shape):
    rows, handles = [], []
    def register(module):
        def hook(module, inputs, output):
            params = sum(p.numel() for p in module.parameters(recurse=False))
            rows.append((module.__class__.__name__, list(output.size()), params))
        if not isinstance(module, nn.Sequential) and not (module == model):
            handles.append(module.register_forward_hook(hook))
    model.apply(register)
    with torch.no_grad():
        model(torch.rand(1, *shape))
    for h in handles:
        h.remove()
    print("----------------------------------------------------------------")
    print("{:>20}  {:>25} {:>15}".format("Layer (type)", "Output Shape", "Param #"))
    for i, (name, size, params) in enumerate(rows, 1):
        print("{:>20}  {:>25} {:>15}".format(f"{name}-{i}", str(size), "{0:,}".format(params)))
    print("Total params: {0:,}".format(sum(r[2] for r in rows)))

model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10))
summary(model, (3, 8, 8))
