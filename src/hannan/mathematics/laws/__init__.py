"""The laws of a perturbation: what a law is, the light and the heavy tails of Table 1, and laws of your own."""
