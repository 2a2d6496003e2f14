"""What backward computes, in a few lines each."""

from explorer.trace.examples.example import Example

FIRST_STEPS: tuple[Example, ...] = (
    Example(
        "mean",
        "Mean of 3(x + 2)²",
        "First steps",
        "Why is x.grad 9 and 12, and not 18 and 24?",
        "mean divides by the number of elements, here 2, so the derivative is 6(x + 2) / 2. With "
        "sum instead of mean nothing is divided, and the gradient is 18 and 24.",
        """\
import torch

x = torch.tensor([[1.0, 2.0]], requires_grad=True)
y = x + 2
z = 3 * y**2
out = z.mean()
out.backward()
print(x.grad)
""",
    ),
    Example(
        "sum",
        "Sum of 3(x + 2)²",
        "First steps",
        "What changes when mean becomes sum?",
        "Nothing is divided by the number of elements any more: the derivative is 6(x + 2), twice "
        "that of the mean of two elements.",
        """\
import torch

x = torch.tensor([[1.0, 2.0]], requires_grad=True)
y = x + 2
z = 3 * y**2
out = z.sum()
out.backward()
print(x.grad)
""",
    ),
    Example(
        "chain",
        "The chain rule",
        "First steps",
        "Which three numbers are multiplied to get x.grad?",
        "From y back to x: the derivative of exp is its own result e^b, that of sin is cos(a), and "
        "that of 2 * x is 2. Each node multiplies the incoming gradient by its own derivative.",
        """\
import torch

x = torch.tensor(0.25, requires_grad=True)
a = 2 * x
b = torch.sin(a)
y = torch.exp(b)
y.backward()
print(x.grad, torch.exp(b) * torch.cos(a) * 2)
""",
    ),
    Example(
        "shared",
        "A variable used twice",
        "First steps",
        "Where do the two gradients of x meet?",
        "x² passes 2x = 6 to x, and 5x passes 5. Both arrive at x, where they are added: 11.",
        """\
import torch

x = torch.tensor(3.0, requires_grad=True)
square = x**2
line = 5 * x
y = square + line
y.backward()
print(x.grad)
""",
    ),
    Example(
        "broadcast_sum",
        "Broadcasting in backward",
        "First steps",
        "Why is the gradient of b 3 and not 1?",
        "b is added to each of three rows. In backward, the gradients of all rows are summed, so "
        "that b.grad has the shape of b.",
        """\
import torch

x = torch.zeros(3, 2)
b = torch.tensor([1.0, 2.0], requires_grad=True)
y = x + b
y.sum().backward()
print(b.grad)
""",
    ),
    Example(
        "matmul",
        "A matrix product",
        "First steps",
        "What are the gradients of A @ B?",
        "If G is the incoming gradient (all ones here), A gets G @ B.T and B gets A.T @ G.",
        """\
import torch

A = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
B = torch.tensor([[1.0, 0.0], [2.0, 1.0]], requires_grad=True)
C = A @ B
C.sum().backward()
G = torch.ones(2, 2)
print(A.grad, G @ B.T)
print(B.grad, A.T @ G)
""",
    ),
    Example(
        "second",
        "A second derivative",
        "First steps",
        "How can a gradient be differentiated again?",
        "create_graph=True records the backward pass itself. The first derivative 3x² then has a "
        "graph of its own, and its gradient is 6x = 12.",
        """\
import torch

x = torch.tensor(2.0, requires_grad=True)
y = x**3
(first,) = torch.autograd.grad(y, x, create_graph=True)
first.backward()
print(first, x.grad)
""",
    ),
    Example(
        "upstream",
        "Starting from a vector",
        "First steps",
        "What does the argument of backward do?",
        "y has two elements. The argument holds the gradient with which each of them starts, 1 and "
        "10, so it weights the elements of y.",
        """\
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x**2
y.backward(torch.tensor([1.0, 10.0]))
print(x.grad)
""",
    ),
    Example(
        "jacobian",
        "Jacobian",
        "First steps",
        "Which derivative is in row 1, column 0?",
        "That of output 1 with respect to input 0. backward never builds this matrix: it computes "
        "the product of one row of weights and the matrix. jacobian asks for one row after "
        "another.",
        """\
import torch

def f(x):
    return torch.stack([x[0] * x[1], x[0] ** 2])

x = torch.tensor([2.0, 3.0], requires_grad=True)
print(torch.autograd.functional.jacobian(f, x))
f(x).sum().backward()
""",
    ),
    Example(
        "branch",
        "Only executed branches",
        "First steps",
        "What happens to the branch that was not taken?",
        "Nothing: autograd records operations as they run. The graph contains the multiplication "
        "by 2; the square was never computed.",
        """\
import torch

x = torch.tensor(3.0, requires_grad=True)
if x > 2:
    y = 2 * x
else:
    y = x**2
y.backward()
print(x.grad)
""",
    ),
    Example(
        "picked",
        "Indexing",
        "First steps",
        "What is the gradient of the elements that were not selected?",
        "0 and not None: they are part of x, and x is in the graph. Only x[1] affects the result.",
        """\
import torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x[1] ** 2
y.backward()
print(x.grad)
""",
    ),
    Example(
        "custom",
        "A custom Function",
        "First steps",
        "Where does the derivative of a custom Function come from?",
        "From the backward method that you write: autograd calls it with the incoming gradient. "
        "This one clips the gradient and leaves the value unchanged.",
        """\
import torch

class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad.clamp(-1, 1)

x = torch.tensor([0.1, 5.0], requires_grad=True)
y = Clip.apply(x)
(y**2).sum().backward()
print(x.grad)
""",
    ),
)
