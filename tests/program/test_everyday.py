# ruff: noqa: E501
"""Scripts in everyday style print what they print in a Python of their own."""

import subprocess
import sys

import pytest

from explorer import run
from tests.program.compare import ours, refusal
from tests.program.everyday import SCRIPTS


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_prints_what_python_prints(name):
    command = [sys.executable, "-W", "ignore", "-c", SCRIPTS[name]]
    plain = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert ours(SCRIPTS[name])[0] == plain.stdout


#: What ends a program -> what it prints, and what is said of it.
OTHERWISE = {
    "import sys\nprint(1)\nsys.exit()\nprint(2)": (
        "1\n",
        "The program ended itself (line 3).",
    ),
    "print(1)\nexit('bye')\nprint(2)": ("1\nbye\n", "The program ended itself (line 2)."),
    "def f():\n    raise SystemExit\ntry:\n    f()\nexcept Exception:\n    print(2)": (
        "",
        "The program ended itself (line 2).",
    ),
}


@pytest.mark.parametrize("source", OTHERWISE)
def test_a_program_that_ends_itself(source):
    trace = run(source)
    output, sentence = OTHERWISE[source]
    assert trace.error is None
    assert trace.output == output
    assert sentence in trace.notices


#: A program -> the output.
OUTPUTS = {
    "import inspect\ndef f(x):\n    return x\n\nclass A:\n    def g(self):\n        pass\n"
    "print(inspect.getsource(f), inspect.getsource(A), inspect.getsource(A().g), sep='')": (
        "def f(x):\n    return x\nclass A:\n    def g(self):\n        pass\n"
        "    def g(self):\n        pass\n\n"
    ),
    "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    traceback.print_exc()": (
        'Traceback (most recent call last):\n  File "<program>", line 3, in <module>\n'
        "    1 / 0\n    ~~^~~\nZeroDivisionError: division by zero\n"
    ),
    "import logging\nlogging.warning('careful')\nlogging.info('no')": "WARNING:root:careful\n",
    "import logging\nlogging.getLogger('a').warning('bare')": "bare\n",
    "import sys\nprint('error', file=sys.stderr)": "error\n",
    "try:\n    raise SystemExit(3)\nexcept SystemExit:\n    print('kept')": "kept\n",
    "from typing import TypedDict\nclass Movie(TypedDict):\n    name: str\nprint(Movie(name='x'))": (
        "{'name': 'x'}\n"
    ),
    "from dataclasses import dataclass\nfrom typing import ClassVar\n@dataclass\nclass A:\n"
    "    x: int\n    n: ClassVar[int] = 0\nprint(A(1))": "A(x=1)\n",
    "import os\nos.makedirs('a')\nprint(os.path.exists('a'), os.listdir('.'))": "True ['a']\n",
    "import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', default=3)\n"
    "print(p.parse_args())": "Namespace(n=3)\n",
    "import sys\nprint(sys.argv, __name__, __file__)": "['program.py'] __main__ program.py\n",
    "import pickle\nclass A:\n    x = 1\nprint(pickle.loads(pickle.dumps(A())).x)": "1\n",
    "import sys\nprint(sys.modules['__main__'].__name__, 'sys' in globals(), eval('1 + 1'))": (
        "__main__ True 2\n"
    ),
}


@pytest.mark.parametrize("source", OUTPUTS)
def test_output(source):
    assert ours(source)[0] == OUTPUTS[source]


def test_a_warning_of_the_program_is_among_the_notes():
    trace = run("import warnings\nfor i in range(3):\n    warnings.warn('careful')")
    assert trace.notes == ("careful",)
    assert run("import warnings\nwarnings.filterwarnings('ignore')\nwarnings.warn('x')").notes == ()


def test_options_of_one_run_are_not_those_of_the_next():
    first = (
        "import numpy as np\nimport decimal, warnings, logging\n"
        "np.set_printoptions(precision=1)\nnp.seterr(all='raise')\n"
        "decimal.getcontext().prec = 3\n"
        "warnings.simplefilter('error')\nlogging.basicConfig(level=10, format='%(message)s')\n"
    )
    second = (
        "import numpy as np\nimport decimal, warnings, logging\n"
        "print(np.array([1 / 3]), decimal.Decimal(1) / 3)\n"
        "warnings.warn('x')\nnp.array([1.0]) / 0\nlogging.info('y')\n"
    )
    ours(first)
    assert ours(second)[0] == "[0.33333333] 0.3333333333333333333333333333\n"


def test_an_argument_without_a_default_is_explained():
    source = (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', required=True)"
    )
    error = refusal(f"{source}\np.parse_args()")
    assert error.line == 4
    assert error.message.startswith("The program needs command-line arguments")
    assert "Give each a default" in error.hint
