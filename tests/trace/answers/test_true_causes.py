"""What is said of the cause of a gradient, of a missing graph or of memory is true of this run.
Each program also stands inside a function."""

from __future__ import annotations

import pytest

from tests.trace.answers.test_true_sentences import FORMS, answers, told

OVERWRITTEN = """\
x = torch.tensor([0.5, 0.3, 0.9], requires_grad=True)
y = torch.{function}(x)
loss = (y * 2).sum()
y.data.fill_({value})
loss.backward()
"""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("function", "value"), [("sigmoid", 0), ("tanh", 1), ("relu", 0)])
def test_a_function_is_not_flat_where_its_result_was_overwritten(
    function: str, value: int, form: str
) -> None:
    found = answers(OVERWRITTEN.format(function=function, value=value), form)
    assert [answer.key for answer in found] == ["inplace.unseen"]
    assert found[0].fix is not None


WITHOUT_GRAPH = {
    "a detached input": """\
x = torch.tensor(2.0, requires_grad=True)
z = x.detach()
y = 4 * z * x
g, = torch.autograd.grad(y, x, create_graph=True)
g.backward()
""",
    "a Function that computes with numbers": """\
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x.item()
        return 4 * x ** 2
    @staticmethod
    def backward(ctx, g):
        return g * 8 * ctx.x
x = torch.tensor(2.0, requires_grad=True)
g, = torch.autograd.grad(Square.apply(x), x, create_graph=True)
g.backward()
""",
    "a function of torch": """\
x = torch.tensor(2.0, requires_grad=True)
_, g = torch.autograd.functional.vjp(lambda x: 4 * x**2, x)
g.backward()
""",
    "a hook": """\
x = torch.tensor(2.0, requires_grad=True)
grads = []
y = x * 2
y.register_hook(lambda g: grads.append(g))
(y ** 2).backward()
grads[0].backward()
""",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", WITHOUT_GRAPH)
def test_a_gradient_without_a_graph_is_not_called_a_constant(name: str, form: str) -> None:
    text = told(WITHOUT_GRAPH[name], form)
    assert "graph" in text
    assert "which does not depend on any input" not in text
    assert "None of the tensors" not in text


DREAM = """\
net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU()).eval()
img = torch.rand(1, 3, 8, 8)
for i in range(20):
    {detached}
    loss = net(img).norm()
    grad = torch.autograd.grad(loss, img)[0]
    img = img + 0.1 * grad
print(loss.item())
"""


@pytest.mark.parametrize("form", FORMS)
def test_memory_does_not_grow_with_what_is_detached_in_each_turn(form: str) -> None:
    assert "memory" not in told(DREAM.format(detached="img = img.detach().requires_grad_()"), form)


def test_it_grows_with_a_total_of_results() -> None:
    total = (
        "net = nn.Linear(2, 1).eval()\ntotal = 0\nfor i in range(9):\n"
        "    total = total + net(torch.rand(3, 2)).mean()\nprint(total)\n"
    )
    assert "Why does memory grow with total?" in told(total, FORMS[0])


SCALED = """\
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
{scaler}
x, y = torch.randn(8, 3), torch.randn(8, 1)
seen = []
for i in range(6):
    opt.zero_grad()
    loss = F.mse_loss(model(x), y)
    {scaled}.backward()
    seen.append(loss)
    {step}
    print(loss.item())
for group in opt.param_groups:
    group["lr"] = 0.1
"""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scaled", ["(loss * 1024)", "(loss / 4)", "(128 * loss)"])
def test_a_scaled_loss_is_not_told_as_the_loss(scaled: str, form: str) -> None:
    body = SCALED.format(scaler="pass", scaled=scaled, step="opt.step()")
    assert "the last loss is" not in told(body, form)
