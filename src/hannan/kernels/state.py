"""The state of a run: one float64 array, a header of HEADER slots, then L[n], then w[n], then extras.

The distribution in place is p_i = w_i / state[TOTAL]. The words of the random stream are uint64 bit patterns
in float64 storage: read and save them through a uint64 view, never as numbers.
"""

from __future__ import annotations

#: Slots of the header.
ROUND = 0  #: moves drawn so far
OWN = 1  #: own normalised loss so far: expected <p, l> for experts, realised for bandits
SCALE = 2  #: the scale that the weights in place were made with
TUNE_C, TUNE_A, TUNE_B, TUNE_D = (
    3,
    4,
    5,
    6,
)  #: scale = c sqrt(a + b t + d own), t the round about to be played
TOTAL = 7  #: the sum of the weights
STREAM = 8  #: the four words of xoshiro256++ (8..11)
PARAM0, PARAM1, PARAM2 = 12, 13, 14  #: the smoothing's parameters
WARM = 15  #: the smoothing's warm start
SLOPE_SUM = 14  #: Tsallis 1/2: S_3 at the weights in place (in the place of PARAM2)
LOW, HIGH, GAINS = 16, 17, 18  #: the user's units
ESTIMATOR, ESTIMATOR_PARAM = 19, 20
VALUE = 21  #: Phi(L) at SCALE, when asked for
LEVEL = 22  #: largest realised one-step divergence divided by the span of the loss
GAMMA = 23  #: the divergence LEVEL is measured in
DRIFT = 24  #: sum of D_t of the master identity
CHANGE = 25  #: sum of Phi_t(L_t) - Phi_{t+1}(L_t)
CLIP = 26  #: rho of C_rho
PATH = 27  #: how the weights are kept, see below
ARMS = 28  #: n, the length of L and w
ACTIONS = 29  #: K, for bandits with experts
ORIGIN, SLOPE = 30, 31  #: normalised loss = (x - ORIGIN) * SLOPE
INVERSE = 32  #: 1 / SCALE
BASE = 33  #: Entropy: w_i = exp((BASE - L_i) / SCALE + log prior_i - TOP); Tsallis 1/2: where y is 0
TOP = 34
FRESH = 35  #: multiplicative updates since the weights were last made from L
KAPPA = 36  #: tuned clipping: a = min(1/2, KAPPA (1 + own)^(-1/3)); 0 when the clip is fixed
RATE = 37  #: h of the tuned clipping, scale = h / eps
PRIOR = 38  #: offset of log prior_i, 0 when uniform
TREE = 39  #: offset of the partial sums, 0 when there are none
SCRATCH = 40  #: offset of the K action probabilities of bandits with experts, 0 when there are none
WEIGHT = 41  #: the estimate of 1/probability of the move just drawn
PROBABILITY = 42  #: the exact probability of the move just drawn
START = 43  #: Phi_1(0), the first term of the master identity
SETTLED = 44  #: steps settled so far; kept for C pointers only, as is PAID
ARM = 45  #: the arm of the last step (bandits): for C pointers, and where one weight changes a round
PAID = 46  #: own normalised loss of the last step
MEMORY = 47  #: offset of what a learner with a memory keeps (kernels.remembering), 0 when there is none
HEADER = 48
L = HEADER

#: PATH, how the weights are kept: by a C pointer; Entropy, all made from L each round; Entropy at a constant
#: scale, one made from L each round (bandits) or all multiplied (experts); Tsallis 1/2.
POINTER, ENTROPY, ENTROPY_ONE, ENTROPY_TIMES, TSALLIS_HALF = 0, 1, 2, 3, 4
#: Settings.
EXPERTS, BANDIT, EXPERT_BANDIT = 0, 1, 2
#: Partial sums of FAN weights are kept from TREE_FROM arms on, so that a draw costs log n.
FAN = 16
TREE_FROM = 65
#: Multiplied weights are made from L again after so many rounds.
REFRESH = 256
#: Estimators.
IMPORTANCE_WEIGHTED, GEOMETRIC, CONDITIONAL, REDUCED_VARIANCE, IMPLICIT = 0, 1, 2, 3, 4
#: What a step reports: fine, a bad loss, a smoothing that failed, bad advice.
FINE, BAD_LOSS, FAILED, BAD_ADVICE = 0, 1, 2, 3
