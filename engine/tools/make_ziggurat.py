"""Write engine/convex/ziggurat.hpp: 256 layers of equal area under exp(-x^2/2).

python engine/tools/make_ziggurat.py > engine/convex/ziggurat.hpp
"""

import math
from itertools import pairwise

LAYERS = 256
EDGE = 3.6541528853610088  # start of the tail
AREA = 0.00492867323399141  # area of a layer


def edges() -> list[float]:
    """Return the right edges of the layers, widest first. Edge 0 makes the area of the bottom layer equal."""
    edge = [AREA * math.exp(0.5 * EDGE**2), EDGE]
    for _ in range(2, LAYERS):
        edge.append(math.sqrt(-2.0 * math.log(AREA / edge[-1] + math.exp(-0.5 * edge[-1] ** 2))))
    return [*edge, 0.0]


def array(kind: str, name: str, values: list[str]) -> None:
    print(f"inline constexpr {kind} {name}[{len(values)}] = {{")
    for k in range(0, len(values), 4):
        print("    " + ", ".join(values[k : k + 4]) + ",")
    print("};\n")


def main() -> None:
    edge = edges()
    print(
        '// Written by tools/make_ziggurat.py.\n#pragma once\n\n#include "../types.hpp"\n\nnamespace hn::ziggurat {\n'
    )
    print(f"inline constexpr double tail = {EDGE.hex()};\n")
    print("/// Right edges of the layers; a layer's width for one unit of 2^-52.")
    array("double", "edges", [x.hex() for x in edge])
    array("double", "widths", [(x * 2.0**-52).hex() for x in edge[:-1]])
    print("/// Below this, a signed integer of 53 bits times the layer's width is under the curve for certain.")
    array("i64", "certain", [str(int(b / a * 2.0**52)) for a, b in pairwise(edge)])
    print("}  // namespace hn::ziggurat")


if __name__ == "__main__":
    main()
