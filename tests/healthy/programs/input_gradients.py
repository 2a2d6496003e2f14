# Gradients of inputs: adversarial examples, saliency, style, optimised images.
#
# Of these programs nothing may be said.

# ======== fast gradient sign
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Flatten(), nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 3))
model.eval()

def fgsm_attack(image, epsilon, data_grad):
    perturbed = image + epsilon * data_grad.sign()
    return torch.clamp(perturbed, 0, 1)

changed = 0
for i in range(4):
    data = torch.rand(1, 1, 4, 4)
    data.requires_grad = True
    output = model(data)
    target = output.argmax(dim=1)
    loss = F.cross_entropy(output, target)
    model.zero_grad()
    loss.backward()
    perturbed = fgsm_attack(data, 0.3, data.grad.data)
    with torch.no_grad():
        changed += (model(perturbed).argmax(dim=1) != target).sum().item()
print(changed, "of 4 changed")

# ======== projected gradient descent attack
import torch
import torch.nn.functional as F
from torch import nn

def pgd(model, x, y, eps=0.3, alpha=0.1, steps=5):
    delta = torch.empty_like(x).uniform_(-eps, eps)
    delta.requires_grad_()
    for _ in range(steps):
        loss = F.cross_entropy(model(x + delta), y)
        (grad,) = torch.autograd.grad(loss, delta)
        delta.data = (delta.data + alpha * grad.sign()).clamp(-eps, eps)
    return (x + delta).detach()

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(24, 6)
y = (x[:, 0] > 0).long()
for epoch in range(6):
    adversarial = pgd(model, x, y)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(adversarial), y)
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())

# ======== saliency map
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                      nn.Linear(64, 5))
model.eval()
for p in model.parameters():
    p.requires_grad_(False)
image = torch.rand(1, 3, 8, 8, requires_grad=True)
scores = model(image)
score, index = scores.max(dim=1)
score.backward()
saliency, _ = image.grad.abs().max(dim=1)
saliency = (saliency - saliency.min()) / (saliency.max() - saliency.min())
print(index.item(), saliency.shape, saliency.max().item())

# ======== integrated gradients
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
x, baseline = torch.tensor([1.0, -2.0, 0.5, 3.0]), torch.zeros(4)
steps = 40
total = torch.zeros(4)
for k in range(steps):
    point = (baseline + (k + 0.5) / steps * (x - baseline)).requires_grad_(True)
    (gradient,) = torch.autograd.grad(net(point).sum(), point)
    total += gradient
attribution = (x - baseline) * total / steps
with torch.no_grad():
    difference = net(x) - net(baseline)
print(attribution, attribution.sum().item(), difference.item())
assert torch.allclose(attribution.sum(), difference.squeeze(), atol=1e-2)

# ======== Grad-CAM by hooks
import torch
from torch import nn

torch.manual_seed(0)
features = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 6, 3, padding=1))
head = nn.Linear(6, 3)
activations, gradients = {}, {}

def save_activation(module, inputs, output):
    activations["value"] = output.detach()
    output.register_hook(lambda grad: gradients.update(value=grad.detach()))

handle = features[2].register_forward_hook(save_activation)
image = torch.rand(1, 1, 6, 6)
pooled = torch.relu(features(image)).mean(dim=(2, 3))
scores = head(pooled)
scores[0, scores.argmax()].backward()
handle.remove()
weights = gradients["value"].mean(dim=(2, 3), keepdim=True)
cam = torch.relu((weights * activations["value"]).sum(dim=1))
print(cam.shape, cam.max().item())

# ======== style transfer
# The image is optimised; the features of the targets are detached once.
import torch
import torch.nn.functional as F
from torch import nn, optim

def gram(x):
    b, c, h, w = x.size()
    f = x.view(b * c, h * w)
    return torch.mm(f, f.t()) / (b * c * h * w)

torch.manual_seed(0)
conv = nn.Conv2d(3, 6, 3, padding=1).requires_grad_(False)
content_img, style_img = torch.rand(1, 3, 8, 8), torch.rand(1, 3, 8, 8)
content_target = conv(content_img).detach()
style_target = gram(conv(style_img)).detach()
input_img = content_img.clone().requires_grad_(True)
optimizer = optim.LBFGS([input_img])
run = [0]
while run[0] <= 20:
    def closure():
        with torch.no_grad():
            input_img.clamp_(0, 1)
        optimizer.zero_grad()
        features = conv(input_img)
        style_loss = F.mse_loss(gram(features), style_target)
        loss = F.mse_loss(features, content_target) + 1000 * style_loss
        loss.backward()
        run[0] += 1
        return loss
    optimizer.step(closure)
with torch.no_grad():
    input_img.clamp_(0, 1)
print(run[0], input_img.mean().item())

# ======== deep dream
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3))
net.eval()
image = torch.rand(1, 3, 10, 10, requires_grad=True)
before = net(image)[0, 3].mean().item()
for i in range(15):
    net.zero_grad()
    activation = net(image)[0, 3].mean()
    activation.backward()
    with torch.no_grad():
        g = image.grad / (image.grad.abs().mean() + 1e-8)
        image += 0.02 * g
        image.clamp_(0, 1)
        image.grad.zero_()
after = net(image)[0, 3].mean().item()
print(before, after)
assert after > before

# ======== fitting points on a circle
# Positions are the parameters; pairwise distances come from (n, 1, 2) − (1, n, 2) on purpose.
import torch

torch.manual_seed(0)
positions = torch.randn(6, 2, requires_grad=True)
optimizer = torch.optim.Adam([positions], lr=0.05)
off_diagonal = ~torch.eye(6, dtype=torch.bool)
for step in range(40):
    difference = positions[:, None, :] - positions[None, :, :]
    squared = (difference ** 2).sum(-1)[off_diagonal]
    energy = (1 / (squared + 0.1)).sum() + 10 * ((positions.norm(dim=1) - 1) ** 2).sum()
    optimizer.zero_grad()
    energy.backward()
    optimizer.step()
print(positions.detach().norm(dim=1))

# ======== counterfactual explanation
import torch
from torch import nn

torch.manual_seed(1)
classifier = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)).requires_grad_(False)
x = torch.tensor([0.2, -0.4, 0.9])
start = torch.sigmoid(classifier(x)).item()
wanted = 0.0 if start > 0.5 else 1.0
candidate = x.clone().requires_grad_()
optimizer = torch.optim.Adam([candidate], lr=0.1)
for step in range(60):
    p = torch.sigmoid(classifier(candidate))
    loss = (p - wanted).pow(2).sum() + 0.01 * (candidate - x).abs().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(start, p.item(), candidate.detach() - x)

# ======== latent code of a frozen generator
import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 6))
generator.requires_grad_(False).eval()
with torch.no_grad():
    goal = generator(torch.tensor([[0.5, -1.0]]))
z = torch.zeros(1, 2, requires_grad=True)
optimizer = torch.optim.Adam([z], lr=0.1)
for step in range(50):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(generator(z), goal)
    loss.backward()
    optimizer.step()
print(z.detach(), loss.item())
assert loss.item() < 0.01
