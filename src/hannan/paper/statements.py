"""Numbered statements of the paper: the number that LaTeX gives to each label, and a short form of the statement.

`tests/paper/test_statements.py` derives the numbers from `tests/oracles/paper_outline.tex`, an outline of the source.
"""

from __future__ import annotations

from typing import NamedTuple


class Statement(NamedTuple):
    """Number of a statement in the paper, such as "Lemma 3.1", and a short form of its text."""

    number: str
    text: str


#: In the order of the paper.
STATEMENTS: dict[str, Statement] = {
    "eq:max_divergence": Statement(
        "Equation (1)",
        "D_{∞}^{δ}(P, Q) = sup over sets with P(B) > δ of log((P(B) − δ)/Q(B)); it is “not a metric, because it is "
        "asymmetric and does not satisfy the triangle inequality”.",
    ),
    "def:OSDS": Statement(
        "Definition 2.1",
        "A learner is one-step differentially stable w.r.t. D at level ε iff D(A(ℓ_{1:t−1}), A(ℓ_{1:t})) ≤ ε for any "
        "losses.",
    ),
    "def:OSDSnorm": Statement(
        "Definition 2.2", "… w.r.t. a norm and D at level ε iff D(A(ℓ_{1:t−1}), A(ℓ_{1:t})) ≤ ε‖ℓ_{t}‖."
    ),
    "eq:tsallismaxdiv": Statement("Equation (2)", "D_{∞,γ}(P, Q) = sup_{B} log_{γ} P(B) − log_{γ} Q(B)."),
    "lemma:regret_lstar": Statement(
        "Lemma 3.1",
        "Loss-only, losses bounded by B, A DiffStable(D_{∞}^{δ}) at level ε ≤ 1: "
        "E Regret(A) ≤ 2ε L* + 3 E Regret(A⁺) + δBT.",
    ),
    "thm:oco": Statement(
        "Theorem 3.2",
        "Loss-only convex losses in [0, B], ‖X‖ ≤ D, ‖∇ℓ‖ ≤ β, Hessian of rank one and at most γ: the expected regret "
        "of Algorithm 1 is O(√(L*(γD² + βdD))) with Gamma and O(√(L*(γD² + D√(dβ² log BT)))) with Gaussian noise.",
    ),
    "eq:oco1": Statement(
        "Equation (3)",
        "The expected regret of Algorithm 1 is at most 2εL* + (3γ/ε)D² + 6D E‖b‖ + δBT, as that of A⁺ is at most "
        "(γ/ε)D² + 2D E‖b‖.",
    ),
    "alg:oco": Statement(
        "Algorithm 1",
        "Draw b from the density ∝ exp(−ε‖b‖/(2β)), or from N(0, (β² log(2/δ) + 4ε)/ε² I); play the argmin over X of "
        "Σℓ_{s}(x) + (γ/ε)‖x‖² + ⟨b, x⟩.",
    ),
    "cor:olo": Statement(
        "Corollary 3.3",
        "Loss-only linear losses, ‖X‖ ≤ D, ‖ℓ‖ ≤ β: expected regret O(√(L* dβD)) with Gamma noise and "
        "O(√(L* βD √(d log βDT))) with Gaussian noise.",
    ),
    "sec:experts": Statement(
        "Section 3.3",
        "Using the baseline potential min_{i} L_{i} in GBPA would result in follow-the-leader, “which is known to be "
        "unstable”.",
    ),
    "alg:gbpa": Statement("Algorithm 2", "GBPA for experts: draw i_{t} from p_{t} = ∇Φ(L_{t−1}), add the losses seen."),
    "prop:dc_to_dp": Statement(
        "Proposition 3.5",
        "If Φ is (γ, ε)-differentially consistent, −∇²_{ii}Φ ≤ ε(∇_{i}Φ)^{γ}, γ ≥ 1, and −∇²Φ is positive "
        "off-diagonal, GBPA is DiffStable(D_{∞,γ}, ‖·‖_{∞}) at level 2ε.",
    ),
    "thm:analysis_experts": Statement(
        "Theorem 3.6",
        "FTPL with Gamma, Gumbel, Fréchet, Weibull and Pareto perturbations, with a proper choice of parameters, all "
        "achieve the optimal O(√(L* log N) + log N) expected regret.",
    ),
    "lem:regret_bandit": Statement(
        "Lemma 4.1",
        "GBPA DiffStable(D_{∞,γ}, ‖·‖_{∞}) at level ε, 1 ≤ γ ≤ 2: the expected regret of Algorithm 4 is at most "
        "ε E Σ ℓ̂² p^{γ} + E[max F − min F].",
    ),
    "thm:gbpa_bandits": Statement(
        "Theorem 4.2",
        "Bandits: (1) FTPL with five laws O(√(NT log N)); (2) FTRL with Tsallis entropy O(√(NT)); (3) FTRL with the "
        "log-barrier O(√(N L* log(NT)) + N log(NT)).",
    ),
    "alg:gbpa_bwe": Statement(
        "Algorithm 3",
        "GBPA for bandits with experts: q = ψ(p), clipped or not; ℓ̂ = ℓ_{j}/q_{j} e_{j}; the experts who advised j "
        "are "
        "charged φ(ℓ̂). ⟨ψ(p), ℓ̂⟩ = ⟨p, φ(ℓ̂)⟩.",
    ),
    "eq:clipping": Statement(
        "Equation (4)", "C_{ρ}(q)_{j} = q_{j}/(1 − Σ_{q_j' < ρ} q_{j'}) if q_{j} ≥ ρ, else 0; 0 ≤ ρ < 1/K."
    ),
    "thm:gbpa_bwe": Statement(
        "Theorem 4.3",
        "Bandits with experts, five laws: (1) without clipping O(√(KT log N)); (2) with clipping "
        "O((K log N)^{1/3} L*^{2/3}).",
    ),
    "lem:increasing": Statement("Proposition A.1", "D_{∞,γ}(P, Q) is non-decreasing in γ for γ > 0."),
    "lem:deterministic": Statement(
        "Proposition A.2", "D_{∞,γ}(f(X), f(Y)) ≤ D_{∞,γ}(X, Y) for every measurable function f."
    ),
    "lem:delta_pl": Statement(
        "Lemma B.1",
        "D_{∞}^{δ}(Y, Z) ≤ ε if and only if some Y' has |P(Y ∈ B) − P(Y' ∈ B)| ≤ δ for all B, and D_{∞}(Y', Z) ≤ ε.",
    ),
    "lem:dp_func": Statement(
        "Lemma B.2", "D_{∞}^{δ}(Y, Z) ≤ ε and f with values in [0, F]: E f(Y) ≤ e^{ε} E f(Z) + δF."
    ),
    "prop:POD": Statement(
        "Proposition B.3",
        "Φ(L) = min_{p} ⟨L, p⟩ + Σf(p_{i}), f differentiable and strictly convex: −∇²Φ(L) is positive off-diagonal.",
    ),
    "tab:dist": Statement(
        "Table 1",
        "(1, ε)-consistent with E max Z = O(log N/ε): Gamma(1, 1), Gumbel(0, 1), Fréchet(log N), Weibull*(1, 1), "
        "Pareto*(1, log N); those with * “have to be modified slightly”.",
    ),
    "alg:gbpa_bandits": Statement(
        "Algorithm 4", "GBPA for bandits: draw i_{t} from ∇Φ(L̂_{t−1}); ℓ̂_{t} = ℓ_{t,i_t}/p_{t,i_t} e_{i_t}; L̂ += ℓ̂."
    ),
    "lem:regret_bandit_full": Statement(
        "Lemma C.1",
        "As Lemma 4.1, with E[max over p_{i} ≥ τ of F − F(p_{0})] + τNT for the range: “there is a p in Δ_{τ} such "
        "that ‖p' − p‖_{1} ≤ τN”.",
    ),
    "lem:mabregret": Statement(
        "Lemma C.2",
        "E Σℓ_{t,i_t} − L* ≤ E Σ⟨p_{t} − p_{t+1}, ℓ̂_{t}⟩ + E[max over p_{i} ≥ τ of F − F(p_{0})] + τNT.",
    ),
    "lem:gammastability": Statement("Lemma C.3", "⟨p_{t} − p_{t+1}, ℓ̂_{t}⟩ ≤ ε ℓ̂² p^{γ}."),
    "lem:logdc": Statement("Lemma C.4", "F = −ηΣ log p_{i}: Φ is (2, 1/η)-differentially consistent."),
    "lem:regret_bwe": Statement(
        "Lemma C.5", "Without clipping: E Σℓ_{t,j_t} − L* ≤ ε E Σ ℓ̂_{t,i_t}² q_{t,j_t} + E[max F − min F]."
    ),
    "lem:bweregret": Statement(
        "Lemma C.6",
        "E Σℓ_{t,i_t} − L* ≤ E Σ⟨p_{t} − p_{t+1}, φ̄_{t}⟩ + E[max F − min F], φ̄_{t} the running sum of φ_{s}(ℓ̂_{s}).",
    ),
    "lem:gammastability_bwe": Statement("Lemma C.7", "⟨p_{t} − p_{t+1}, φ̄_{t}⟩ ≤ ε ℓ̂_{t,j_t}² q_{t,j_t}."),
    "eq:bwe_rhs1": Statement("Equation (17)", "E[2ε ℓ̂² Σ_{i: E_i = j} p_{i}] = E[2ε (ℓ²/q̃²) q̃] ≤ (2ε/ρ) E ℓ_{t,j_t}."),
}
