"""What is said of the cause of a gradient, of a missing graph or of memory is true of this run.
Each program also stands inside a function."""

from __future__ import annotations

import pytest

from tests.trace.explain.test_true_sentences import FORMS, answers, sentences

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
    "a number of an input": """\
x = torch.tensor(2.0, requires_grad=True)
slope = 4 * x.item()
y = slope * x
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
    text = sentences(WITHOUT_GRAPH[name], form)
    assert "graph" in text
    assert "constant" not in text
    assert "None of the tensors" not in text


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "linear", ["4 * t", "t / 2 + t", "(t - 1).sum()", "torch.ones(2) @ (t * torch.ones(2))"]
)
def test_the_gradient_of_a_linear_function_is(linear: str, form: str) -> None:
    text = sentences(
        f"t = torch.tensor(1.5, requires_grad=True)\ny = {linear}\n"
        "(g,) = torch.autograd.grad(y, t, create_graph=True)\ng.backward()\n",
        form,
    )
    assert "is a linear function, so its gradient is a constant" in text
    assert "The derivative of a constant is 0" in text


NO_GRADIENT = {
    "a hook of another tensor": """\
x, w = torch.ones(2), torch.ones(2)
b = torch.zeros(1, requires_grad=True)
b.register_hook(print)
loss = (w * x).sum()
loss.backward()
""",
    "a hook with a variable of that name": """\
y = torch.ones(1, requires_grad=True)
y.register_hook(lambda loss: print(loss))
loss = torch.ones(2).sum()
loss.backward()
""",
    "a gradient that is printed": """\
w = torch.ones(2, requires_grad=True)
(w * w).sum().backward()
print(w.grad)
x = torch.ones(2)
loss = (x * x).sum()
loss.backward()
""",
    "a block that reads one": """\
w, x = torch.ones(2, requires_grad=True), torch.ones(2)
(w * w).sum().backward()
with torch.enable_grad() as block:
    print(w.grad, block)
    loss = x.sum()
loss = loss + (block is None)
loss.backward()
""",
    "a gradient that is read later": """\
x, y, w = torch.ones(4, 2), torch.ones(4), torch.zeros(2)
for i in range(3):
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()
    w -= 0.1 * w.grad
""",
    "torch.func.grad": """\
w = torch.tensor(2.0, requires_grad=True)
g = torch.func.grad(lambda t: t**3)(w.detach())
g.backward()
""",
    "torch.func.vjp": """\
w = torch.tensor(2.0, requires_grad=True)
_, f = torch.func.vjp(lambda t: t**3, w.detach())
g = f(torch.tensor(1.0))[0]
g.backward()
""",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NO_GRADIENT)
def test_only_a_gradient_asks_for_create_graph(name: str, form: str) -> None:
    text = sentences(NO_GRADIENT[name], form)
    assert "does not require grad" in text
    assert "create_graph" not in text


GRADIENTS = {
    "a function that makes the hook": """\
kept = {}
def keep(name):
    def hook(g):
        kept[name] = g
    return hook
x = torch.tensor(2.0, requires_grad=True)
y = x**2
y.register_hook(keep("y"))
(y**2).backward()
kept["y"].backward()
""",
    "a list that is the hook": """\
grads = []
x = torch.tensor(2.0, requires_grad=True)
y = x**2
y.register_hook(grads.append)
(y**2).backward()
sum(g.pow(2) for g in grads).backward()
""",
    "an attribute": """\
class Kept:
    def hook(self, g):
        self.g = g
kept = Kept()
x = torch.tensor(2.0, requires_grad=True)
y = x**2
y.register_hook(kept.hook)
(y**2).backward()
norm = kept.g.norm()
norm.backward()
""",
    "a function that returns it": """\
def slope(f, x):
    return torch.autograd.functional.jacobian(f, x)
x = torch.tensor(2.0, requires_grad=True)
total = slope(lambda t: t**3, x) * 2
total.backward()
""",
    "a loop over parameters": """\
net = nn.Linear(2, 1)
net(torch.ones(3, 2)).pow(2).mean().backward()
norm = 0
for p in net.parameters():
    norm = norm + p.grad.norm()
norm.backward()
""",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", GRADIENTS)
def test_create_graph_is_tried_where_a_gradient_is_differentiated(name: str, form: str) -> None:
    (answer,) = answers(GRADIENTS[name], form)
    assert "create_graph=True" in (answer.fix or "")
    assert "None of the tensors" not in answer.text
    assert answer.tried.startswith("With this change, the program runs")


WITHOUT_W = {
    "another tensor": "x = torch.ones(2)\nloss = x.sum()\n",
    "numbers": "loss = torch.tensor([2.0, 3.0]).sum()\n",
    "a layer that is not used": "net = nn.Linear(2, 1)\nx = torch.ones(2)\nloss = x.sum()\n",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", WITHOUT_W)
def test_what_is_computed_without_w_asks_for_no_create_graph(name: str, form: str) -> None:
    text = sentences(
        f"w = torch.ones(2, requires_grad=True)\n{WITHOUT_W[name]}loss.backward()\n", form
    )
    assert "None of the tensors that" in text
    assert "create_graph" not in text


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("product", ["jvp", "hvp"])
def test_no_tensor_inside_of_torch_is_said_to_be_frozen(product: str, form: str) -> None:
    text = sentences(
        "x = torch.tensor(3.0, requires_grad=True)\n"
        f"_, g = torch.autograd.functional.{product}(lambda t: t**3, x, torch.tensor(1.0))\n"
        "g.backward()\n",
        form,
    )
    assert "computed without a graph" in text
    assert "create_graph=True" in text
    assert "a tensor to False" not in text


RESIDUAL = """\
class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x).relu() + x

net = Residual().eval()
img = torch.ones(1, 4)
for step in range(4):
    {detached}
    img = img + net(img)
print(img)
"""


def test_the_sums_inside_a_network_are_none_of_earlier_turns() -> None:
    question = "Why does memory grow with img?"
    for detached in ("img = img.detach()", "img = img.detach() + 1\n    img = img + net(img)",
                     "old = img.detach()\n    img = old"):  # fmt: skip
        assert question not in sentences(RESIDUAL.format(detached=detached), FORMS[0])
    assert question in sentences(RESIDUAL.format(detached="pass"), FORMS[0])


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
    assert "memory" not in sentences(
        DREAM.format(detached="img = img.detach().requires_grad_()"), form
    )


@pytest.mark.parametrize(
    "added",
    [
        "total = total + net(torch.rand(3, 2)).mean()",
        "total = 1 + net(torch.rand(3, 2)).mean() + total",
        "total += net(torch.rand(3, 2)).mean()",
        "total = 0.9 * total + 0.1 * net(torch.rand(3, 2)).mean()",
    ],
)
def test_it_grows_with_a_total_of_results(added: str) -> None:
    total = (
        f"net = nn.Linear(2, 1).eval()\ntotal = 0\nfor i in range(9):\n    {added}\nprint(total)\n"
    )
    assert "Why does memory grow with total?" in sentences(total, FORMS[0])


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
@pytest.mark.parametrize(
    "scaled",
    ["(loss * 1024)", "(loss / 4)", "(128 * loss)", "(loss / len(x))"],
)
def test_a_scaled_loss_is_not_told_as_the_loss(scaled: str, form: str) -> None:
    body = SCALED.format(scaler="pass", scaled=scaled, step="opt.step()")
    assert "the last loss is" not in sentences(body, form)


AMP = """\
net = nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
x, y = torch.randn(8, 2), torch.randn(8, 1)
for step in range(4):
    optimizer.zero_grad()
    loss = F.mse_loss(net(x), y)
    {backward}
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    print(loss.item())
"""
AGAIN = """\
net = nn.Linear(2, 1)
x, y = torch.randn(8, 2), torch.randn(8, 1)
for step in range(4):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    loss = F.mse_loss(net(x), y)
    optimizer.zero_grad()
    {backward}
    optimizer.step()
    print(loss.item())
"""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "backward",
    ["scaler.scale(loss).backward()", "scaled = scaler.scale(loss)\n    scaled.backward()"],
)
def test_a_loss_that_a_scaler_multiplied_is_not_told(backward: str, form: str) -> None:
    found = answers(AMP.format(backward=backward), form)
    (answer,) = [answer for answer in found if answer.key == "order.unscale"]
    assert answer.tried == "With this change, the problem is gone."


@pytest.mark.parametrize(
    "backward",
    [
        "(loss / x.shape[0]).backward()",
        "(loss * 4).backward()",
        "(loss.mean() / 4).backward()",
        "(loss / (4 * 2)).backward()",
        "(loss * 128 / 2).backward()",
        "(2 * F.mse_loss(net(x), y)).backward()",
        "(loss * len(x) / 9).backward()",
        "(loss * torch.tensor(4.0)).backward()",
        "(-loss).neg().backward()",
        "scaled = loss / 4\n    scaled.backward()",
        "loss = loss / 4\n    loss.backward()",
        "torch.autograd.backward(loss.mul(4))",
    ],
)
def test_a_multiple_of_the_loss_is_not_told_as_the_loss(backward: str) -> None:
    assert "the last loss is" not in sentences(AGAIN.format(backward=backward), FORMS[0])


@pytest.mark.parametrize(
    "backward",
    [
        "loss.backward()",
        "loss = 2 * F.mse_loss(net(x), y)\n    loss.backward()",
        "loss = (net(x) - y).pow(2).sum() / len(x)\n    loss.backward()",
        "F.mse_loss(net(x), y).backward()",
    ],
)
def test_the_last_loss_is_that_which_the_program_prints(backward: str) -> None:
    assert "the last loss is" in sentences(AGAIN.format(backward=backward), FORMS[0])


EXPLODING = """\
torch.set_default_dtype(torch.float64)
W = (torch.eye(4) * 1.2).requires_grad_()
opt = torch.optim.SGD([W], lr=0.001)
for step in range({steps}):
    h = torch.ones(1, 4)
    for t in range(20):
        h = h @ W
    loss = h.pow(2).mean()
    opt.zero_grad()
    {backward}
    opt.step()
    print(loss.item())
"""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("steps", "title"),
    [(2, "Why does the loss grow? "), (4, "Why is the loss NaN or infinite from backward call")],
)
def test_a_multiple_of_the_loss_does_not_grow_as_the_loss(
    steps: int, title: str, form: str
) -> None:
    plain = sentences(EXPLODING.format(steps=steps, backward="loss.backward()"), form)
    scaled = sentences(EXPLODING.format(steps=steps, backward="(loss * 4 / 2).backward()"), form)
    assert title in plain
    assert title in scaled
    assert "the loss goes from" in plain
    assert "the loss goes from" not in scaled


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mean", ["np.mean(e)", "np.float32(e.mean())", "e.max()"])
def test_a_number_of_numpy_tells_where_the_graph_was_cut(mean: str, form: str) -> None:
    text = sentences(
        "net = nn.Linear(2, 1)\nx = torch.ones(3, 2)\ne = net(x).detach().numpy() ** 2\n"
        f"mean = {mean}\nloss = torch.tensor(mean)\nloss.backward()\n",
        form,
    )
    assert "numpy() gives an array" in text
    assert "requires_grad=True" not in text


@pytest.mark.parametrize("form", FORMS)
def test_what_has_a_name_needs_none(form: str) -> None:
    text = sentences(
        "x = torch.tensor(2.0, requires_grad=True)\nh = x * 3\n(h * h).backward()\nprint(h.grad)\n",
        form,
    )
    assert "Call h.retain_grad() before backward" in text
    assert "Give it a name" not in text


@pytest.mark.parametrize("form", FORMS)
def test_a_switch_before_backward_is_left_out(form: str) -> None:
    """Written as a block for the rest of main(), it still had backward in it."""
    (answer,) = answers(
        "net = nn.Linear(2, 1)\nx = torch.ones(3, 2)\ntorch.set_grad_enabled(False)\n"
        "print(net(x))\nnet(x).mean().backward()\n",
        form,
    )
    assert "set_grad_enabled" not in (answer.fix or "set_grad_enabled")
    assert "no_grad" not in answer.fix
    assert answer.tried.startswith("With this change, the program runs")


@pytest.mark.parametrize("form", FORMS)
def test_a_name_given_to_a_new_tensor_is_told_once(form: str) -> None:
    """`w.grad = None` clears the gradient of the new w: the leaf keeps what it has."""
    (answer,) = answers(
        "w = torch.tensor(3.0, requires_grad=True)\nfor i in range(3):\n"
        "    loss = (w - 1) ** 2\n    loss.backward()\n    w = w - 0.1 * w.grad\n",
        form,
    )
    assert answer.key == "none.rebound"
    assert "`w -= 0.1 * w.grad` inside torch.no_grad()" in answer.cure
    assert answer.tried.startswith("With this change, the program runs")


PLAIN = """\
x, y, other = torch.ones(4, 2), torch.ones(4), torch.ones(7)
w = torch.zeros(2)
b = torch.zeros(1)
for i in range(3):
    loss = ((x @ w + b - y) ** 2).mean()
    loss.backward()
    w -= 0.1 * w.grad
    b -= 0.1 * b.grad
"""


@pytest.mark.parametrize("form", FORMS)
def test_what_required_no_gradient_is_that_behind_the_loss(form: str) -> None:
    (answer,) = answers(PLAIN, form)
    assert "other" not in answer.text
    assert "required a gradient" in answer.text
    assert answer.tried.startswith("With this change, the program runs")
    assert "b = torch.zeros(1, requires_grad=True)" in (answer.fix or "")


@pytest.mark.parametrize("form", FORMS)
def test_a_number_made_a_tensor_is_not_computed_from_itself(form: str) -> None:
    text = sentences("total = sum([1.0, 2.0])\nloss = torch.tensor(total)\nloss.backward()\n", form)
    assert "of plain numbers, which have no history." in text
    assert "None of the tensors" not in text
    assert "requires_grad=True" not in text


DQN = """\
q, target = nn.Linear(4, 2), nn.Linear(4, 2)
opt = torch.optim.Adam(q.parameters())
s, r = torch.randn(6, 4), torch.randn(6)
with torch.no_grad():
    best = target(s).max(1).values
    wanted = r + 0.9 * best
    now = q(s)[:, 0]
loss = F.smooth_l1_loss(now, wanted)
loss.backward()
"""


@pytest.mark.parametrize("form", FORMS)
def test_the_cut_that_is_told_is_before_what_is_trained(form: str) -> None:
    (answer,) = answers(DQN, form)
    assert "where now is computed" in answer.text


ENCODER = """\
enc, dec = nn.Linear(4, 2), nn.Linear(2, 4)
opt = torch.optim.SGD([*enc.parameters(), *dec.parameters()], lr=0.1)
x = torch.randn(5, 4)
for step in range(3):
    z = enc(x).detach()
    loss = F.mse_loss(dec(z), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize("form", FORMS)
def test_what_was_cut_off_is_part_of_the_loss(form: str) -> None:
    (answer,) = answers(ENCODER, form)
    assert "at enc(x): detach() gives the same values" in answer.text
    assert "not part of the loss" not in answer.text
    assert "z = enc(x)\n" in (answer.fix or "")


@pytest.mark.parametrize("form", FORMS)
def test_the_values_at_the_end_are_those_after_the_last_step(form: str) -> None:
    (answer,) = answers(
        "w = torch.tensor(3.0, requires_grad=True)\nfor i in range(4):\n"
        "    loss = (w - 1) ** 2\n    loss.backward()\n    with torch.no_grad():\n"
        "        w -= 0.1 * w.grad\n",
        form,
    )
    assert "is 1.8192 instead of 0.0912" in answer.tried


PENALTY = """\
net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
x = torch.randn(5, 2, requires_grad=True)
out = net(x)
g, = torch.autograd.grad(out.sum(), x)
loss = out.mean() + (g.norm(dim=1) - 1).pow(2).mean()
loss.backward()
"""


@pytest.mark.parametrize("form", FORMS)
def test_a_penalty_of_gradients_needs_their_graph(form: str) -> None:
    """retain_graph=True let the program run, with a penalty that changed no gradient."""
    answer = answers(PENALTY, form)[0]
    assert "with create_graph=True" in answer.cure
    assert answer.tried.startswith("With this change, the program runs")
    assert "retain_graph" not in (answer.fix or "retain_graph")


@pytest.mark.parametrize("form", FORMS)
def test_the_call_that_fails_is_named(form: str) -> None:
    (answer,) = answers(
        "x = torch.tensor([1.0, 2.0], requires_grad=True)\n"
        "g = torch.autograd.grad((x**3).sum(), x)[0]\nh = torch.autograd.grad(g.sum(), x)[0]\n",
        form,
    )
    assert answer.title.startswith("Why does torch.autograd.grad on line")


@pytest.mark.parametrize("form", FORMS)
def test_a_leaf_of_a_function_can_be_made_to_require_grad(form: str) -> None:
    (answer,) = answers(
        "x = torch.ones(3)\ny = x.mean()\ny.requires_grad_()\ny.backward()\nprint(x.grad)\n", form
    )
    assert answer.cure == "Create x with requires_grad=True."
    assert "x = torch.ones(3, requires_grad=True)" in (answer.fix or "")


@pytest.mark.parametrize("form", FORMS)
def test_detach_in_place_is_a_cut(form: str) -> None:
    (answer,) = answers(
        "net = nn.Linear(2, 1)\nout = net(torch.ones(1, 2))\nout.detach_()\n"
        "out.mean().backward()\n",
        form,
    )
    assert "at out: detach_() removes the history" in answer.text.replace("main.out_1", "out")
    assert "detach_" not in (answer.fix or "detach_")
    assert answer.tried.startswith("With this change, the program runs")


@pytest.mark.parametrize("form", FORMS)
def test_an_input_that_is_optimised_needs_no_trained_weights(form: str) -> None:
    (answer,) = answers(
        "net = nn.Linear(2, 1)\nnet.requires_grad_(False)\nx = torch.zeros(1, 2)\n"
        "opt = torch.optim.Adam([x], lr=0.1)\nnet(x).pow(2).mean().backward()\nopt.step()\n",
        form,
    )
    assert "x = torch.zeros(1, 2, requires_grad=True)" in (answer.fix or "")
    assert "net.requires_grad_(False)" in (answer.fix or "")


@pytest.mark.parametrize("form", FORMS)
def test_numbers_in_a_dict_tell_where_they_were_cut(form: str) -> None:
    text = sentences(
        "net = nn.Linear(2, 1)\nx = torch.ones(3, 2)\nlosses = {'a': net(x).mean().item()}\n"
        "total = torch.tensor(sum(losses.values()))\ntotal.backward()\n",
        form,
    )
    assert "item() gives a plain Python number" in text


def test_functions_that_return_each_other_are_followed_once() -> None:
    text = sentences(
        "x = torch.tensor(2.0)\ndef start(a):\n    h = a * 2\n    if h > 100:\n"
        "        return middle\n    return h\ndef middle(a):\n    if a > 100:\n"
        "        return start\n    return a\nz = start(middle(x))\nz.backward()\n",
        FORMS[0],
    )
    assert "None of the tensors that z was computed from required a gradient" in text
