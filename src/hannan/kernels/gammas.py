"""The regularized incomplete gamma function, compiled: P(a, z) = int_0^z x^(a-1) e^-x dx / Gamma(a)."""

from __future__ import annotations

import math

from hannan.kernels.compile import kernel


@kernel
def gamma_cdf_and_ratio(a, z, log_gamma):
    """F = P(a, z) and r = f/F of the Gamma law at z > 0; `log_gamma` is log Gamma(a)."""
    if z <= 0.0:
        return 0.0, math.inf
    front = math.exp(a * math.log(z) - z - log_gamma)  # z f(z)
    if z < a + 1.0:
        # series: P = z^a e^-z / Gamma(a) * sum_k z^k / (a (a+1) ... (a+k))
        term = 1.0 / a
        total = term
        k = a
        while term > 1e-17 * total:
            k += 1.0
            term *= z / k
            total += term
        return front * total, 1.0 / (z * total)
    # modified Lentz on the continued fraction of the upper tail
    b = z + 1.0 - a
    c = 1e300
    d = 1.0 / b
    fraction = d
    for k in range(1, 500 + int(10.0 * math.sqrt(a))):
        step = -k * (k - a)
        b += 2.0
        d = step * d + b
        if abs(d) < 1e-300:
            d = 1e-300
        c = b + step / c
        if abs(c) < 1e-300:
            c = 1e-300
        d = 1.0 / d
        change = d * c
        fraction *= change
        if abs(change - 1.0) < 1e-16:
            break
    cdf = 1.0 - front * fraction
    return cdf, front / z / cdf
