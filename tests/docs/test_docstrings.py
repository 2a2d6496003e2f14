"""The public names of the library have docstrings."""

import inspect

import pytest

import explorer

pytestmark = pytest.mark.fast

CALLS = {
    "run", "record", "show", "prove", "ProgramProblem", "TrainingSession", "load_ipython_extension",
}  # fmt: skip
PACKAGES = ("program", "trace", "training", "networks", "vision", "sandbox")


def test_the_package_lists_what_it_has():
    assert CALLS | set(PACKAGES) == set(dir(explorer))
    assert all(getattr(explorer, name) is not None for name in dir(explorer))


@pytest.mark.parametrize("package", PACKAGES)
def test_every_exported_name_has_a_docstring(package):
    module = getattr(explorer, package)
    assert len(module.__doc__.splitlines()) > 1
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isfunction(value) or inspect.isclass(value):
            docstring = inspect.cleandoc(value.__doc__ or "")
            assert docstring[: len(name) + 1] not in ("", f"{name}("), f"{package}.{name}"
        if inspect.isclass(value):
            for method, member in vars(value).items():
                if inspect.isfunction(member) and method == member.__name__ and method[0] != "_":
                    assert member.__doc__, f"{package}.{name}.{method}"
