"""Write engine/tables.hpp: 2^(j/128), 1/c and log c of the logarithm, pieces of erfcx, Gauss's rules, panels.

python engine/tools/make_tables.py > engine/tables.hpp
"""

import mpmath as mp
import numpy as np

mp.mp.prec = 200
#: Number of nodes of a panel of Thompson sampling.
PANEL_NODES = 12


def text(x) -> str:
    return float(x).hex()


def array(name: str, rows, kind: str = "double") -> None:
    flat = [text(x) for row in rows for x in (row if isinstance(row, (list, tuple)) else [row])]
    inner = f"[{len(rows[0])}]" if isinstance(rows[0], (list, tuple)) else ""
    print(f"inline constexpr {kind} {name}[{len(rows)}]{inner} = {{")
    for k in range(0, len(flat), 4):
        print("    " + ", ".join(flat[k : k + 4]) + ",")
    print("};\n")


def logarithms():
    """For m in [0.703125, 1.40625), cell j of 128: c of ten bits near 1/m, and -log c in two parts; c = 1 about 1."""
    rows = []
    for j in range(128):
        # Cells of 1/128 of [1, 2); the upper ones are halved, so that those about 1 share c = 1.
        middle = 1 + (mp.mpf(j) + mp.mpf("0.5")) / 128
        if middle > mp.mpf("1.40625"):
            middle /= 2
        bits = 10
        e = mp.floor(mp.log(1 / middle, 2))
        c = mp.nint(1 / middle * mp.mpf(2) ** (bits - 1 - e)) / mp.mpf(2) ** (bits - 1 - e)
        if j in (0, 127):
            c = mp.mpf(1)
        log = -mp.log(c)
        # The first part has 42 bits after the point: k ln 2 (first part alike) added to it is exact.
        high = mp.nint(log * mp.mpf(2) ** 42) / mp.mpf(2) ** 42
        rows.append((float(c), float(high), float(log - high)))
    return rows


def erfcx_pieces():
    """e^(x^2) erfc(x), x >= 0, in t = 4/(4 + x): 64 cells of degree 9 at Chebyshev nodes, in s of [-1, 1]."""
    rows = []
    cells, degree = 64, 9

    def value(t):
        if t == 0:
            return mp.mpf(0)
        x = 4 / t - 4
        return (
            mp.exp(x * x) * mp.erfc(x)
            if x < 1000
            else mp.mpf(1) / (x * mp.sqrt(mp.pi)) * (1 - 1 / (2 * x * x) + 3 / (4 * x**4))
        )

    for j in range(cells):
        nodes = [mp.cos(mp.pi * (k + mp.mpf("0.5")) / (degree + 1)) for k in range(degree + 1)]
        ys = [value((j + (s + 1) / 2) / cells) for s in nodes]
        matrix = mp.matrix(degree + 1, degree + 1)
        for r, s in enumerate(nodes):
            for k in range(degree + 1):
                matrix[r, k] = s**k
        rows.append(tuple(float(x) for x in mp.lu_solve(matrix, mp.matrix(ys))))
    return rows


def gauss(most: int):
    """Rules of 1..most nodes on [0, 1]: nodes, then masses, each padded with zeros."""
    xs, ws = [], []
    for m in range(1, most + 1):
        x, w = np.polynomial.legendre.leggauss(m)
        pad = [0.0] * (most - m)
        xs.append((*(0.5 * (x + 1.0)).tolist(), *pad))
        ws.append((*(0.5 * w).tolist(), *pad))
    return xs, ws


def panel_rule() -> tuple[list[mp.mpf], list[mp.mpf], list[list[mp.mpf]]]:
    """Return nodes, weights and above[k][l], the integral of the l-th cardinal polynomial from node k to 1."""
    x = sorted(
        (mp.mpf(1) - r) / 2
        for r in mp.polyroots(
            mp.taylor(lambda z: mp.legendre(PANEL_NODES, z), 0, PANEL_NODES)[::-1], 500, extraprec=500
        )
    )
    cardinal = []
    for one in range(PANEL_NODES):
        p = [mp.mpf(1)]
        for j in range(PANEL_NODES):
            if j != one:
                scale = 1 / (x[one] - x[j])
                p = [a - x[j] * b for a, b in zip([0, *p], [*p, 0], strict=True)]
                p = [scale * c for c in p]
        cardinal.append(p)

    def between(p: list[mp.mpf], low: mp.mpf, high: mp.mpf) -> mp.mpf:
        return mp.fsum(c * (high ** (k + 1) - low ** (k + 1)) / (k + 1) for k, c in enumerate(p))

    weights = [between(p, mp.mpf(0), mp.mpf(1)) for p in cardinal]
    return x, weights, [[between(p, at, mp.mpf(1)) for p in cardinal] for at in x]


def row(values: list[mp.mpf]) -> str:
    return ", ".join(float(v).hex() for v in values)


def panels() -> None:
    """Print the namespace of the panels."""
    mp.mp.dps = 60
    x, weights, above = panel_rule()
    print("\nnamespace hn::panels {\n")
    print("/// Gauss-Legendre rule on [0, 1], nodes in ascending order.")
    print(f"inline constexpr int count = {PANEL_NODES};")
    print(f"inline constexpr double nodes[{PANEL_NODES}] = {{{row(x)}}};")
    print(f"inline constexpr double weights[{PANEL_NODES}] = {{{row(weights)}}};")
    print("/// above[k][l]: weight of the value at node l in the integral from node k to 1.")
    print(f"inline constexpr double above[{PANEL_NODES}][{PANEL_NODES}] = {{")
    for line in above:
        print(f"    {{{row(line)}}},")
    print("};\n\n}  // namespace hn::panels")


def main() -> None:
    print("// Written by tools/make_tables.py.\n#pragma once\n\nnamespace hn::tables {\n")
    array("power", [mp.mpf(2) ** (mp.mpf(j) / 128) for j in range(128)])
    array("logarithm", logarithms())
    ln2_high = mp.nint(mp.log(2) * mp.mpf(2) ** 42) / mp.mpf(2) ** 42
    print(f"inline constexpr double ln2_high = {text(ln2_high)}, ln2_low = {text(mp.log(2) - ln2_high)};\n")
    array("erfcx", erfcx_pieces())
    xs, ws = gauss(24)
    array("gauss_x", xs)
    array("gauss_w", ws)
    print("}  // namespace hn::tables")
    panels()


main()
