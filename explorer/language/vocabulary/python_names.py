"""Which names of numpy, math and other modules that tutorials import the language has."""

from __future__ import annotations

import collections
import copy
import functools
import itertools
import math
import random
import time
import types

import numpy as np

from explorer.language.vocabulary.torch_names import Group

#: Private random generators, seeded for every run.
RANDOM = random.Random(0)
NUMPY_RANDOM = np.random.RandomState(0)

GROUPS = (
    Group(
        "numpy",
        "numpy",
        np,
        """array asarray zeros ones full eye arange linspace zeros_like ones_like full_like
        histogram minimum maximum argmax argmin max min sum mean std var prod cumsum abs absolute
        sqrt exp log log2 log10 sin cos tan tanh arctan sign floor ceil round clip where dot matmul
        outer inner transpose reshape concatenate stack vstack hstack split squeeze expand_dims
        sort argsort unique any all isnan isinf isfinite isclose allclose array_equal meshgrid
        power square add subtract multiply divide median percentile diff diag trace tile repeat
        argwhere flatnonzero count_nonzero ravel column_stack amax amin empty empty_like identity
        float32 float64 int32 int64 bool_ pi e inf nan newaxis""",
    ),
    Group(
        "numpy: shapes and selecting",
        "numpy",
        np,
        """flip fliplr flipud rot90 roll moveaxis swapaxes rollaxis atleast_1d atleast_2d atleast_3d
        broadcast_to broadcast_arrays dstack hsplit vsplit dsplit array_split append insert delete
        trim_zeros tril triu tril_indices triu_indices diagflat diagonal vander block copy
        ascontiguousarray nonzero extract compress choose select take take_along_axis put_along_axis
        indices unravel_index ravel_multi_index ix_ searchsorted digitize bincount histogram2d
        histogram_bin_edges lexsort partition argpartition intersect1d union1d setdiff1d setxor1d
        isin logspace geomspace shape size ndim tri hamming hanning blackman bartlett""",
    ),
    Group(
        "numpy: element by element",
        "numpy",
        np,
        """sinh cosh arcsin arccos arcsinh arccosh arctanh arctan2 hypot degrees radians deg2rad
        rad2deg expm1 log1p exp2 cbrt reciprocal negative positive fabs heaviside mod remainder fmod
        divmod modf floor_divide true_divide float_power rint fix trunc copysign nextafter spacing
        signbit ldexp frexp logaddexp logaddexp2 sinc i0 nan_to_num real imag conj conjugate angle
        isreal iscomplex isrealobj iscomplexobj isneginf isposinf isscalar logical_and logical_or
        logical_not logical_xor bitwise_and bitwise_or bitwise_xor bitwise_not invert left_shift
        right_shift equal not_equal less less_equal greater greater_equal fmax fmin unwrap interp
        polyval array_equiv""",
    ),
    Group(
        "numpy: reducing",
        "numpy",
        np,
        """nanmax nanmin nansum nanmean nanstd nanvar nanmedian nanpercentile nanquantile nanprod
        nanargmax nanargmin nancumsum cumprod ptp average quantile cov corrcoef correlate convolve
        gradient ediff1d trapezoid cross kron vdot tensordot polyfit poly roots polyder polyint
        polyadd polymul polysub""",
    ),
    Group(
        "numpy: types",
        "numpy",
        np,
        """float16 int8 int16 uint8 uint16 uint32 uint64 complex64 complex128 result_type
        promote_types can_cast""",
    ),
    Group(
        "numpy: Fourier",
        "numpy.fft",
        np.fft,
        """fft ifft rfft irfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn hfft ihfft fftfreq
        rfftfreq fftshift ifftshift""",
    ),
    Group(
        "numpy",
        "numpy.random",
        NUMPY_RANDOM,
        "seed rand randn randint uniform normal choice permutation shuffle random",
    ),
    Group(
        "numpy",
        "numpy.linalg",
        np.linalg,
        """norm inv det solve eig eigh eigvals
        eigvalsh svd svdvals qr pinv lstsq matrix_rank cholesky cond slogdet matrix_power multi_dot
        """,
    ),
    Group(
        "Python",
        "math",
        math,
        """sqrt exp log log2 log10 log1p expm1 sin cos tan asin acos atan atan2 sinh cosh tanh pi e
        inf nan tau floor ceil fabs isnan isinf isfinite isclose hypot erf copysign degrees radians
        pow trunc fsum gcd""",
    ),
    Group(
        "Python",
        "random",
        RANDOM,
        "random uniform randint gauss normalvariate choice shuffle sample seed randrange",
    ),
    Group("Python", "collections", collections, "OrderedDict defaultdict Counter deque"),
    Group("Python", "copy", copy, "deepcopy copy"),
    Group("Python", "functools", functools, "partial reduce"),
    Group("Python", "itertools", itertools, "product chain combinations permutations accumulate"),
    Group("Python", "time", time, "time perf_counter"),
)

#: What may be read on objects of Python and numpy.
MEMBERS: dict[type, str] = {
    str: """capitalize center count endswith find format index isalpha isalnum isdigit islower
        isnumeric isspace isupper join ljust lower lstrip partition removeprefix removesuffix
        replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip
        swapcase title upper zfill""",
    list: "append clear copy count extend index insert pop remove reverse sort",
    tuple: "count index",
    dict: "clear copy get items keys pop popitem setdefault update values",
    collections.OrderedDict: "move_to_end",
    collections.Counter: "most_common elements subtract total",
    collections.deque: """append appendleft clear copy count extend extendleft index insert maxlen
        pop popleft remove reverse rotate""",
    set: """add clear copy difference difference_update discard intersection intersection_update
        isdisjoint issubset issuperset pop remove symmetric_difference union update""",
    frozenset: """copy difference intersection isdisjoint issubset issuperset
        symmetric_difference union""",
    int: "bit_length real imag conjugate",
    float: "is_integer real imag",
    complex: "real imag conjugate",
    slice: "start stop step",
    range: "start stop step",
    property: "setter getter",
    BaseException: "args",
    np.ndarray: """T shape ndim size dtype itemsize nbytes real imag sum mean std var max min argmax
        argmin prod cumsum all any reshape flatten ravel squeeze transpose swapaxes astype copy
        tolist item dot sort argsort clip round repeat take diagonal trace nonzero cumprod conj
        conjugate searchsorted partition argpartition compress choose fill put mT""",
    np.generic: """shape ndim size dtype item tolist real imag sum mean max min astype round
        reshape""",
    np.dtype: "name kind itemsize",
    types.GeneratorType: "send close",
    np.random.Generator: """random normal uniform integers standard_normal choice shuffle
        permutation""",
}
