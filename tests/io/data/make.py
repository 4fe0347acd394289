# SPDX-FileCopyrightText: the tapeless authors
# SPDX-License-Identifier: MIT
"""Makes the files of this folder but the first three (see npz.cpp), with NumPy 2.4 and SciPy 1.17: python3 make.py"""
import pathlib

import numpy as np
import scipy.sparse as sp

here = pathlib.Path(__file__).parent

# one array of each kind: its elements in row-major order are 0, 1, 2, ... or, of bool, whether they are odd
arrays = {
    "columns": np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)),
    "big": np.arange(6).reshape(2, 3).astype(">i4"),
    "big_columns": np.asfortranarray(np.arange(6).reshape(2, 3).astype(">f8")),
    "half": np.arange(5, dtype=np.float16),
    "labels": np.arange(7),
    "pixels": np.arange(6, dtype=np.uint8).reshape(2, 3),
    "mask": np.arange(4) % 2 == 1,
    "scalar": np.array(0, dtype=np.float32),
    "none": np.zeros((3, 0), dtype=np.float32),
}
np.savez(here / "numpy_savez.npz", **arrays)
np.savez_compressed(here / "numpy_savez_compressed.npz", **arrays)
np.savez(here / "numpy_positional.npz", np.arange(6.0).reshape(2, 3), np.arange(3))

a = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 4, 5], [0, 0, 6, 0]], dtype=np.float64)
sp.save_npz(here / "scipy_bsr.npz", sp.bsr_matrix(a, blocksize=(2, 2)), compressed=False)
sp.save_npz(here / "scipy_dia.npz", sp.dia_matrix(a), compressed=False)
# more columns in data than in the matrix, diagonals beyond it, column-major
wide = sp.dia_array((np.asfortranarray(np.arange(1.0, 19.0).reshape(3, 6)), [0, -2, 1]), shape=(3, 4))
sp.save_npz(here / "scipy_dia_wide.npz", wide, compressed=False)
