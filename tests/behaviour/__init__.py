"""What programs do, kept in golden.json; see docs/quality.md."""

import os

#: Read when torch and numpy are imported: on every processor with AVX2 sums are added in the same
#: order, and the last digits are the same.
os.environ.update(
    ATEN_CPU_CAPABILITY="avx2",
    DNNL_MAX_CPU_ISA="AVX2",
    MKL_CBWR="AVX2",
    OPENBLAS_CORETYPE="Haswell",
)
