from __future__ import annotations

import numpy as np
import pytest

from sapwood.explain.quadrature import gauss_legendre, quadrature_table


@pytest.mark.parametrize("n", [1, 2, 3, 8, 31, 64])
def test_polynomials_of_degree_below_two_n_are_integrated_exactly(n):
    points, weights = gauss_legendre(n)
    for degree in range(2 * n):
        assert (weights * points**degree).sum() == pytest.approx(1 / (degree + 1), rel=1e-13)


@pytest.mark.parametrize("n", [1, 5, 20])
def test_points_and_weights_are_those_of_numpy(n):
    points, weights = np.polynomial.legendre.leggauss(n)
    np.testing.assert_allclose(gauss_legendre(n)[0], (points + 1) / 2, rtol=1e-12)
    np.testing.assert_allclose(gauss_legendre(n)[1], weights / 2, rtol=1e-12)


def test_the_table_has_one_rule_per_row():
    points, weights = quadrature_table(3)
    np.testing.assert_array_equal(points[2], [*gauss_legendre(2)[0], 0.0])
    np.testing.assert_allclose(weights.sum(axis=1), [0, 1, 1, 1], rtol=1e-15)
