# ruff: noqa: E501
"""Attacks through the everyday modules: their functions, formats, names and sizes."""

_D = "from dataclasses import *\n".replace("*", "dataclass, field, asdict, replace, fields")
_E = "from enum import Enum, IntEnum, auto\n"
_T = "from collections import namedtuple\nfrom typing import NamedTuple\n"
_OP = "import operator\nfrom functools import partial, reduce\n"
_NP = "import numpy as np\n"

#: Names that lead out.
_LINES = """
    os.popen("ls") os.fork() os.open("/etc/passwd",0) os.environb os.sys os.path.os
    os.path.genericpath os.abc os.environ.data os.environ.encodekey os.kill(1,9) os._exit(0)
    os.posix_spawn os.putenv("A","b") os.urandom(3) sys._getframe() sys.modules["os"]
    sys.settrace(print) sys.stdout.buffer sys.stdout._write sys.stdin sys.meta_path
    sys.__stdout__ sys.stdout.write.__func__ sys.stdout.write.__globals__
    sys.exc_info()[2].tb_frame sys.setprofile(print) sys.intern sys.breakpointhook()
    sys.displayhook pathlib.os pathlib.Path.home().owner() time.tzset() warnings.sys
    warnings.filters warnings.showwarning warnings._showwarnmsg_impl logging.os
    logging.root.manager logging.Logger.manager logging.shutdown() logging.config json.codecs
    json.decoder json.JSONEncoder re.sre_compile re.Scanner re.template re._cache pprint._sys
    textwrap.re string.Formatter string.Template io.FileIO io.open_code
    io.StringIO().__class__.__init__.__globals__ traceback.sys traceback.walk_stack
    dataclasses.sys dataclasses.make_dataclass dataclasses._create_fn collections.abc.sys
    enum.sys enum.EnumType enum.property typing.get_type_hints typing.sys abc.get_cache_token
    argparse._sys argparse.FileType contextlib.os contextlib.ExitStack functools.singledispatch
    operator.attrgetter("__class__") inspect.stack() inspect.currentframe() inspect.getmembers
    inspect.getsource(print) heapq.os decimal.setcontext decimal.Context random.SystemRandom()
    random._os statistics.sys fractions.operator gc.get_objects() gc.get_referrers
    platform.subprocess platform.uname().node types.FunctionType(1,2) types.CodeType
    types.new_class types.MethodType(print,1) multiprocessing.Process shutil.os glob.os
"""

#: They end in an error, and their child lives.
REFUSED = [
    "from functools import wraps\nimport torch\ndef f():\n    pass\nassert wraps(f)(torch.relu).__name__ == 'f'",
    # names that lead out
    *(f"import {line.split('.')[0]}\nprint({line})" for line in _LINES.split() if line),
    # formats and dotted names that read attributes
    "import logging\nlogging.basicConfig(format='{{message.__class__}}', style='{{')\nlogging.error('x')",
    "import logging\nlogging.basicConfig(format='%(args)s')\nlogging.error('x')",
    "import logging\nlogging.error('%(__class__)s', {{1: 2}})",
    "import logging\nlogging.Formatter('{{0.__class__}}', style='{{')._line({{}})",
    "import logging\nlogging.error('%99999999d', 1)",
    "import logging\nlogging.getLogger().addHandler(print)",
    "import logging\nlogging.getLogger('a')._logs",
    _OP + "operator.attrgetter('real.__class__')(1)",
    _OP + "operator.attrgetter('_x.__class__')(1)",
    _OP + "operator.methodcaller('__reduce__')(1)",
    _OP + "operator.methodcaller('format', print)('{{0.__globals__}}')",
    _OP + "print(operator.itemgetter(0).func)",
    _OP + "operator.itemgetter('__class__')(__builtins__)",
    _OP + "print(reduce(operator.getitem, [0], [print]).__globals__)",
    "import time\ntime.strftime('%Y' * 1000)",
    "from datetime import datetime\ndatetime.now().strftime('%9999d' * 100)",
    "from datetime import datetime\nf'{{datetime.now():%99999999d}}'",
    "from datetime import datetime\nprint(datetime.now.__self__.__subclasses__())",
    "from datetime import datetime\nprint(datetime.__reduce__)",
    # dataclasses and named tuples made of texts
    _D + "dataclass(int)",
    _D + "import torch.nn as nn\ndataclass(nn.Linear)",
    _D + "import torch.nn as nn\n@dataclass\nclass A(nn.Module):\n    _parameters: int\nA(1)",
    _D
    + "import torch.nn as nn\n@dataclass(frozen=True)\nclass A(nn.Module):\n    _buffers: int\nA(1)",
    _D + "@dataclass\nclass A:\n    x: int\nprint(A.__init__.__globals__)",
    _D + "@dataclass\nclass A:\n    x: int\nprint(A(1).__repr__.__func__.__closure__)",
    _D + "@dataclass\nclass A:\n    x: int\nprint(A.__annotations__)",
    _D + "@dataclass\nclass A:\n    x: int\nfields(A)[0]._has_default.__func__",
    _D + "@dataclass\nclass A:\n    __class__: int\nA(1)",
    _D + "@dataclass\nclass A:\n    x: int = field(default_factory=open)\nA()",
    _D + "@dataclass(slots=1, unknown=2)\nclass A:\n    x: int",
    _D + "asdict(print)",
    _D + "@dataclass\nclass A:\n    x: int\nreplace(A(1), __class__=int)",
    _T + "namedtuple('X', ['__class__'])",
    _T + "namedtuple('X', ['a=print(1)'])",
    _T + "namedtuple('X(print(1))', ['a'])",
    _T + "namedtuple('X', ['_make'])",
    _T + "namedtuple('X', ['a'] * 2000)",
    _T + "namedtuple('X', range(3))",
    _T + "namedtuple('X', 'a')(1).__class__.__new__.__globals__",
    _T
    + "class A(namedtuple('X', 'a')):\n    def __iter__(self):\n        return iter([print])\nA(1)",
    _T + "class A(namedtuple('X', 'a')):\n    def __len__(self):\n        return 10 ** 9\nA(1)",
    _T + "class A(NamedTuple):\n    a: int\n    def __getitem__(self, k):\n        return print",
    _T + "class M:\n    def __iter__(self):\n        return iter([])\n"
    "class A(M, namedtuple('X', 'a')):\n    pass",
    # Enums that make classes, or derive from what is closed
    _E + "Enum('X', {{'__del__': print}})",
    _E + "class A(Enum):\n    pass\nA('X', 'a b', module='os')",
    _E + "class A(Enum):\n    pass\nA('X', 'a b')",
    _E + "class A(Enum):\n    X = 1\nA._member_map_['X'] = print",
    _E + "class A(Enum):\n    X = 1\nprint(A.__members__)",
    _E + "class A(Enum):\n    X = 1\nA._value2member_map_",
    _E + "class A(Enum):\n    X = 1\nA.X.__objclass__",
    _E + "class A(Enum):\n    X = 1\nprint(A.__register__)",
    _E + "class A(Enum):\n    X = 1\nA._new_member_(A)",
    _E + "class A(Enum):\n    X = 1\n    def _missing_(value):\n        return print\nA(2)",
    _E + "class A(Enum):\n    X = 1\nA.X = 2",
    _E + "class A(str):\n    pass",
    _E + "class A(dict, Enum):\n    X = 1",
    _E + "class A(type(Enum)):\n    pass",
    _E + "type(Enum)('X', (), {{}})",
    _E + "import torch.nn as nn\nclass A(nn.Linear, Enum):\n    X = 1",
    "from abc import ABC\nclass A(ABC):\n    pass\nA.register(int)",
    "from abc import ABC\nclass A(ABC):\n    pass\nprint(A._abc_impl)",
    "from abc import abstractmethod\nimport torch\nabstractmethod(torch.relu)",
    "from typing import Any\nAny._name = 'x'",
    "from typing import Generic\nGeneric.__init__.__globals__",
    # what arrives through functions of functions
    "from functools import wraps\nwraps(print)(1).__wrapped__",
    "from functools import wraps\n@wraps(print)\ndef f():\n    pass\nprint(f.__wrapped__)",
    "from functools import lru_cache\nlru_cache(print)._function",
    "from functools import lru_cache\n@lru_cache\ndef f():\n    pass\nf._call.__wrapped__",
    "from functools import total_ordering\nimport torch\ntotal_ordering(torch.nn.Linear)",
    "from contextlib import contextmanager\ncontextmanager(print)().gen.gi_frame",
    "from contextlib import contextmanager\n@contextmanager\ndef f():\n    yield 1\nf().gen.gi_frame",
    "from contextlib import redirect_stdout\nwith redirect_stdout(print):\n    print(1)",
    "def f():\n    pass\nf.__dict__",
    "def f():\n    pass\nf.__wrapped__ = print",
    "def f():\n    pass\nf._x = 1",
    "print.x = 1",
    "import torch\ntorch.relu.x = 1",
    # files, and what looks like one
    "open('{file}', 'w').write('x')",
    "open('{file}').read()",
    "from pathlib import Path\nPath('{file}').write_text('x')",
    "from pathlib import Path\nPath('{file}').open('w')",
    "import os\nos.remove('{file}')",
    "import os\nos.rename('{file}', '{file}2')",
    "import os\nos.system('touch {file}')",
    "import shutil\nshutil.move('{file}', '{file}2')",
    "import json\njson.dump([1], open('{file}', 'w'))",
    "import json\njson.load(print)",
    "import json\njson.dumps(1, cls=print)",
    "import json\njson.loads('1', cls=print)",
    "import pprint\npprint.pprint([1], stream=print)",
    "import argparse\np = argparse.ArgumentParser(fromfile_prefix_chars='@')\np.parse_args(['@{file}'])",
    "import argparse\nargparse.ArgumentParser().add_argument('--__class__')",
    "import argparse\nargparse.ArgumentParser().add_argument('--x', dest='__class__')",
    "import argparse\nargparse.ArgumentParser().add_argument('--x', action='version', version='%(prog)s')",
    "import argparse\nargparse.ArgumentParser().add_argument('--x', action=print)",
    "import argparse\nargparse.ArgumentParser().set_defaults(__class__=int)",
    "import argparse\nargparse.Namespace(__class__=int)",
    "from types import SimpleNamespace\nSimpleNamespace(__class__=int)",
    "from types import SimpleNamespace\nSimpleNamespace().__class__ = int",
    # sizes and arguments of numpy
    _NP + "np.vectorize(print).pyfunc",
    _NP + "np.set_printoptions(formatter={{'all': lambda x: 'a' * 10 ** 5}})\nprint(np.ones(3))",
    _NP + "np.set_printoptions(override_repr=print)",
    _NP + "np.seterr(all='call')",
    _NP + "np.seterr(all='print')",
    _NP + "np.pad(np.ones(2), 1, print)",
    _NP + "np.r_['matrix', [1]]",
    _NP + "np.dtype('O')",
    _NP + "np.dtype([('a', 'O')])",
    _NP + "np.vectorize(lambda x: print, otypes='O')(np.ones(2))",
    _NP + "np.vectorize(lambda x: print)(np.ones(2))",
    _NP + "np.apply_along_axis(lambda r: print, 0, np.ones((2, 2)))",
    _NP + "np.random.RandomState(0).get_state()",
    _NP + "np.append([1], [print])",
    _NP + "np.einsum(print, np.ones(2))",
    _NP + "np.lib.stride_tricks.as_strided(np.ones(1), (100,))",
    _NP + "np.testing.assert_equal(print, open)",
    _NP + "np.piecewise(np.ones(2), [True], [open])",
    _NP + "x = np.array(['a'])\nx.fill(print)",
    _NP + "np.array(['a', 'b']).put(0, print)",
    _NP + "np.finfo(object)",
    _NP + "np.floating(1)",
    _NP + "np.linalg.eig(np.eye(2)).__class__.__new__.__globals__",
    "help.__globals__",
    "exit.__globals__",
    "vars(print)",
    "vars(vars)",
    "import torch\nvars(torch)",
    "import torch\nvars(torch.ones(1))",
    "raise KeyboardInterrupt",
    "import warnings\nwarnings.simplefilter('ignore', print)",
    "import warnings\nwarnings.warn('x', print)",
    "import warnings\nwith warnings.catch_warnings(record=True) as w:\n    warnings.warn('x')\nw[0].source",
]

#: They are ended by a limit, and their child lives.
STOPPED = [
    "from itertools import count\nlist(count())",
    "from itertools import cycle\ntuple(cycle([1]))",
    "from itertools import repeat\n''.join(repeat('a' * 1000))",
    "from itertools import repeat\nx = [1]\nx.extend(repeat(1))",
    "from itertools import count\nsorted(count())",
    "from itertools import count\nimport statistics\nstatistics.mean(count())",
    "from itertools import count\nimport heapq\nheapq.nlargest(2, count())",
    "from itertools import count\ndict.fromkeys(count())",
    "import json\na = [1] * 100000\nfor i in range(9):\n    a = [a, a]\njson.dumps(a)",
    "import json\njson.dumps([1] * 100000, indent=' ' * 100)",
    "import json\ndef more(x):\n    return [object(), object()]\njson.dumps(object(), default=more)",
    "import json\njson.loads('[' * 100000)",
    "import json\njson.dumps([0], indent=10 ** 9)",
    "import re\nre.sub('a', 'b' * 100000, 'a' * 100000)",
    "import re\nre.sub('(a+)', '\\\\1' * 10000, 'a' * 10000)",
    "import re\nre.sub('a', lambda m: 'b' * 100000, 'a' * 100000)",
    "import re\nre.compile('(' * 100000)",
    "import re\nre.compile('a|' * 100000)",
    "import textwrap\ntextwrap.indent('\\n'.join('a' * 10000), 'b' * 1000)",
    "import textwrap\ntextwrap.fill('a ' * 10000, width=1, subsequent_indent='b' * 1000)",
    "import textwrap\ntextwrap.wrap('\\t' * 10000, tabsize=10 ** 9)",
    "import pprint\na = []\nfor i in range(40):\n    a = [a, a]\npprint.pprint(a)",
    "import pprint\npprint.pformat([1], indent=10 ** 9)",
    "import pprint\na = [1] * 1000\nfor i in range(90):\n    a = [a]\npprint.pformat(a, indent=100, width=1)\n"
    "pprint.pformat([a] * 100, indent=100, width=1)",
    "from types import SimpleNamespace as N\na = N()\nfor i in range(60):\n    a = N(a=a, b=a)\nprint(a)",
    _D
    + "@dataclass\nclass A:\n    a: int\n    b: int\na = 1\nfor i in range(60):\n    a = A(a, a)\nrepr(a)",
    _D
    + "@dataclass\nclass A:\n    a: int\n    b: int\na = 1\nfor i in range(60):\n    a = A(a, a)\nasdict(a)",
    _T + "A = namedtuple('A', 'a b')\na = 1\nfor i in range(60):\n    a = A(a, a)\nrepr(a)",
    "from fractions import Fraction\nFraction(3, 2) ** 10 ** 9",
    "from fractions import Fraction\nFraction(3, 2) ** -(10 ** 9)",
    "from fractions import Fraction\nx = Fraction(3, 2)\nwhile True:\n    x = x / (1 / x)",
    "from fractions import Fraction\nx = Fraction(1, 3)\nfor i in range(1, 10 ** 6):\n    x = x - Fraction(1, i)",
    "from fractions import Fraction\nFraction('1e99999999')",
    "from fractions import Fraction\nfrom decimal import Decimal\nFraction(Decimal(10) ** 999999)",
    "from decimal import Decimal\nDecimal('1e999999999')",
    "from decimal import Decimal\nd = Decimal('1e999')\nfor i in range(9):\n    d *= d\nint(d)",
    "from decimal import getcontext\ngetcontext().prec = 10 ** 9",
    "import math\nmath.factorial(10 ** 7)",
    "import math\nmath.comb(10 ** 7, 10 ** 6)",
    "import math\nmath.prod(range(1, 10 ** 5))",
    "import math\nmath.perm(10 ** 6)",
    "import random\nrandom.choices([1], k=10 ** 10)",
    "import random\nrandom.getrandbits(10 ** 10)",
    "import random\nrandom.Random(0).choices([1], k=10 ** 10)",
    "import random\nrandom.Random(0).sample(range(10 ** 12), 10 ** 10)",
    _OP + "operator.mul('a', 10 ** 10)",
    _OP + "operator.pow(10, 10 ** 10)",
    _OP + "operator.imul([1], 10 ** 10)",
    _OP + "reduce(operator.mul, range(1, 10 ** 5))",
    _OP + "reduce(operator.lshift, [1, 10 ** 10])",
    "from functools import lru_cache\n@lru_cache(None)\ndef f(x):\n    return f(x + 1)\nf(0)",
    "import io\nf = io.StringIO()\nwhile True:\n    f.write('a' * 100000)",
    "import os\nos.path.join(*['a' * 100000] * 100)",
    "from pathlib import Path\np = Path('a' * 100000)\nfor i in range(60):\n    p = p / p",
    _NP + "np.fromfunction(lambda *a: 1, (10 ** 6, 10 ** 6))",
    _NP + "np.pad(np.ones(2), 10 ** 12)",
    _NP + "np.mgrid[0:10 ** 6, 0:10 ** 6]",
    _NP + "np.r_[0:10 ** 12]",
    _NP + "np.einsum('i,j,k->ijk', *[np.ones(10000)] * 3)",
    _NP + "np.indices((10 ** 6, 10 ** 6))",
    _NP + "np.fft.fft(np.ones(2), 10 ** 12)",
    _NP + "np.random.exponential(1.0, 10 ** 12)",
    _NP + "np.random.multivariate_normal(np.zeros(2), np.eye(2), size=10 ** 12)",
    _NP + "np.kron(np.ones(10 ** 6), np.ones(10 ** 6))",
    _NP + "np.bincount([10 ** 12])",
    _NP + "np.vectorize(lambda x: x)(np.ones(2 * 10 ** 6))",
    _NP + "np.logspace(0, 1, 10 ** 12)",
]

#: Nothing but the clock ends them.
TIME = [
    "from itertools import takewhile, count\nlist(takewhile(lambda x: True, count()))",
    "from itertools import count\nfor i in count():\n    pass",
    "import re\nre.match('(a+)+$', 'a' * 60 + 'b')",
    "import re\nre.sub('(x+x+)+y', '', 'x' * 60)",
    "from itertools import count\nsum(count())",
    "from itertools import cycle\nmax(cycle([1]))",
    "import warnings\nwarnings.filterwarnings('ignore', message='(a+)+$')\nwarnings.warn('a' * 60 + 'b')",
]

#: They run, and assert themselves that they got nothing.
HARMLESS = [
    "import os\nassert not os.environ and os.getcwd() == '/home/user' and not os.path.exists('/')",
    "from os import environ\nassert environ.get('{name}') is None",
    "import os.path as p\nassert not p.exists('{file}')",
    "import os, sys\nassert os.listdir('/') == [] and list(sys.modules) == [] and len(sys.argv) == 1",
    "import os\nos.makedirs('{file}2')\nos.environ['LD_PRELOAD'] = 'x'",
    "import time\ntime.sleep(100)",
    "raise SystemExit",
    "import sys\nsys.exit(3)",
    "import sys\ntry:\n    sys.exit()\nexcept Exception:\n    assert False",
    "assert [n for n in dir(print) if n[:1] == '_'] == []",
    "import collections\nassert collections.namedtuple('X', 'a', module='os').__name__ == 'X'",
    _NP + "np.vectorize(lambda x: x + 1)(np.ones(2))",
    _NP + "np.seterr(all='raise')\nnp.set_printoptions(precision=1)",
    _NP
    + "np.set_printoptions(formatter={{'all': lambda x: 'a'}})\nassert str(np.ones(2)) == '[a a]'",
    _D
    + "@dataclass\nclass A:\n    x: 'print(1) or open(2)' = 3\nassert fields(A)[0].type != 3 and A().x == 3",
    _E
    + "class A(Enum):\n    X = 1\n    @classmethod\n    def _missing_(cls, value):\n        return cls.X\n"
    "assert A(5) is A.X",
    _E
    + "class A(Enum):\n    def _generate_next_value_(name, start, count, last):\n        return name\n"
    "    X = auto()\nassert A.X.value == 'X'",
    _E + "class A(IntEnum):\n    X = 2\nassert [1] * A.X == [1, 1] and 2 ** A.X == 4",
    "import warnings\ncm = warnings.catch_warnings()\nwith cm:\n    warnings.simplefilter('error')",
    "import logging\nclass A:\n    pass\nlogging.warning('%s', A())",
    "from pathlib import Path\nassert list(Path('/').iterdir()) == [] and not Path('{file}').exists()",
    "import gc, sys\nassert gc.collect() == 0 and sys.getrecursionlimit() == 1000",
    "import sys\nsys.setrecursionlimit(10 ** 9)",
    "import glob\nassert glob.glob('/**') == []",
]
