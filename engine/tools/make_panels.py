"""Writes engine/learners/panels.hpp: twelve nodes of Gauss and Legendre on [0, 1], and integrals from a node to 1.

python engine/tools/make_panels.py > engine/learners/panels.hpp
"""

import mpmath as mp

NODES = 12


def rule() -> tuple[list[mp.mpf], list[mp.mpf], list[list[mp.mpf]]]:
    """Nodes, weights, and above[k][l] = the integral of the l-th cardinal polynomial from node k to 1."""
    x = sorted(
        (mp.mpf(1) - r) / 2
        for r in mp.polyroots(mp.taylor(lambda z: mp.legendre(NODES, z), 0, NODES)[::-1], 500, extraprec=500)
    )
    cardinal = []
    for one in range(NODES):
        p = [mp.mpf(1)]
        for j in range(NODES):
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


def main() -> None:
    mp.mp.dps = 60
    x, weights, above = rule()
    print("// Written by tools/make_panels.py.\n#pragma once\n\nnamespace hn::panels {\n")
    print("/// A rule of so many nodes on [0, 1], ascending.")
    print(f"inline constexpr int count = {NODES};")
    print(f"inline constexpr double nodes[{NODES}] = {{{row(x)}}};")
    print(f"inline constexpr double weights[{NODES}] = {{{row(weights)}}};")
    print("/// above[k][l]: what the value at node l adds to the integral from node k to 1.")
    print(f"inline constexpr double above[{NODES}][{NODES}] = {{")
    for line in above:
        print(f"    {{{row(line)}}},")
    print("};\n\n}  // namespace hn::panels")


if __name__ == "__main__":
    main()
