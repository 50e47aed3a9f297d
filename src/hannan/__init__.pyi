"""The public names, for type checkers and editors. Written by engine/tools/public_names.py."""

__version__: str

from hannan import adversaries as adversaries
from hannan import checks as checks
from hannan.audits.audit import Finding as Finding
from hannan.audits.audit import audit as audit
from hannan.audits.audit import audit_convex as audit_convex
from hannan.games.compare import Comparison as Comparison
from hannan.games.compare import compare as compare
from hannan.games.play import play as play
from hannan.games.record import Record as Record
from hannan.games.sweep import sweep as sweep
from hannan.interop import sklearn as sklearn
from hannan.interop import sktime as sktime
from hannan.learners.adahedge import AdaHedge as AdaHedge
from hannan.learners.algorithms import exp3 as exp3
from hannan.learners.algorithms import exp3_ix as exp3_ix
from hannan.learners.algorithms import exp3_s as exp3_s
from hannan.learners.algorithms import exp4 as exp4
from hannan.learners.algorithms import exp4_clipped as exp4_clipped
from hannan.learners.algorithms import fixed_share as fixed_share
from hannan.learners.algorithms import frechet_ftpl as frechet_ftpl
from hannan.learners.algorithms import gaussian_ftpl as gaussian_ftpl
from hannan.learners.algorithms import hedge as hedge
from hannan.learners.algorithms import tsallis_inf as tsallis_inf
from hannan.learners.bandits import Bandit as Bandit
from hannan.learners.convex.barrier import BarrierBandit as BarrierBandit
from hannan.learners.convex.gradient import ExponentiatedGradient as ExponentiatedGradient
from hannan.learners.convex.gradient import OnlineGradientDescent as OnlineGradientDescent
from hannan.learners.convex.learner import Convex as Convex
from hannan.learners.convex.optimistic import OptimisticDescent as OptimisticDescent
from hannan.learners.convex.privacy import Privacy as Privacy
from hannan.learners.convex.privacy import PrivacyCurve as PrivacyCurve
from hannan.learners.convex.private_ball import PrivateBall as PrivateBall
from hannan.learners.convex.smooth import OnlineNewton as OnlineNewton
from hannan.learners.convex.smooth import SmoothDescent as SmoothDescent
from hannan.learners.delayed import TsallisShannon as TsallisShannon
from hannan.learners.estimators import ConditionalResampling as ConditionalResampling
from hannan.learners.estimators import Estimator as Estimator
from hannan.learners.estimators import GeometricResampling as GeometricResampling
from hannan.learners.estimators import ImplicitExploration as ImplicitExploration
from hannan.learners.estimators import ImportanceWeighted as ImportanceWeighted
from hannan.learners.estimators import ReducedVariance as ReducedVariance
from hannan.learners.expert_bandits import ExpertBandit as ExpertBandit
from hannan.learners.experts import Experts as Experts
from hannan.learners.first_order import Exp3Light as Exp3Light
from hannan.learners.first_order import Green as Green
from hannan.learners.fixed_share import Exp3S as Exp3S
from hannan.learners.fixed_share import FixedShare as FixedShare
from hannan.learners.fpl import Assignments as Assignments
from hannan.learners.fpl import FPL as FPL
from hannan.learners.fpl import FPLTrix as FPLTrix
from hannan.learners.fpl import MSets as MSets
from hannan.learners.fpl import ShortestPaths as ShortestPaths
from hannan.learners.lb_inf import LBInf as LBInf
from hannan.learners.locally_private import LocallyPrivate as LocallyPrivate
from hannan.learners.myga import MYGA as MYGA
from hannan.learners.noisy import Dropout as Dropout
from hannan.learners.noisy import RandomPlayout as RandomPlayout
from hannan.learners.noisy import RandomWalk as RandomWalk
from hannan.learners.private_experts import PrivateExperts as PrivateExperts
from hannan.learners.second_order import AdaNormalHedge as AdaNormalHedge
from hannan.learners.second_order import MLPoly as MLPoly
from hannan.learners.second_order import Squint as Squint
from hannan.learners.slates import SlateBandit as SlateBandit
from hannan.learners.slates import SlateExperts as SlateExperts
from hannan.learners.stochastic import EpsilonGreedy as EpsilonGreedy
from hannan.learners.stochastic import ExploreThenCommit as ExploreThenCommit
from hannan.learners.stochastic import KLUCB as KLUCB
from hannan.learners.stochastic import MOSS as MOSS
from hannan.learners.stochastic import Thompson as Thompson
from hannan.learners.stochastic import UCB1 as UCB1
from hannan.learners.tuning import Anytime as Anytime
from hannan.learners.tuning import BestLoss as BestLoss
from hannan.learners.tuning import Fixed as Fixed
from hannan.learners.tuning import Horizon as Horizon
from hannan.learners.tuning import SelfConfident as SelfConfident
from hannan.mathematics.bounds import Bound as Bound
from hannan.mathematics.bounds import Withheld as Withheld
from hannan.mathematics.convex.domains import Ball as Ball
from hannan.mathematics.convex.domains import Box as Box
from hannan.mathematics.convex.domains import Domain as Domain
from hannan.mathematics.convex.domains import Simplex as Simplex
from hannan.mathematics.convex.losses import Huber as Huber
from hannan.mathematics.convex.losses import Linear as Linear
from hannan.mathematics.convex.losses import Logistic as Logistic
from hannan.mathematics.convex.losses import Loss as Loss
from hannan.mathematics.convex.losses import RankOne as RankOne
from hannan.mathematics.convex.losses import SmoothedHinge as SmoothedHinge
from hannan.mathematics.convex.losses import Squared as Squared
from hannan.mathematics.convex.noise import GammaNoise as GammaNoise
from hannan.mathematics.convex.noise import GaussianNoise as GaussianNoise
from hannan.mathematics.convex.noise import Noise as Noise
from hannan.mathematics.convex.polytope import Polytope as Polytope
from hannan.mathematics.divergences import clip as clip
from hannan.mathematics.divergences import hockey_stick as hockey_stick
from hannan.mathematics.divergences import max_divergence as max_divergence
from hannan.mathematics.divergences import tsallis_divergence as tsallis_divergence
from hannan.mathematics.divergences import tsallis_log as tsallis_log
from hannan.mathematics.laws.heavy import Frechet as Frechet
from hannan.mathematics.laws.heavy import Pareto as Pareto
from hannan.mathematics.laws.law import Law as Law
from hannan.mathematics.laws.light import Exponential as Exponential
from hannan.mathematics.laws.light import Gamma as Gamma
from hannan.mathematics.laws.light import Gaussian as Gaussian
from hannan.mathematics.laws.light import Gumbel as Gumbel
from hannan.mathematics.laws.light import Laplace as Laplace
from hannan.mathematics.laws.light import Weibull as Weibull
from hannan.mathematics.potentials import FTPL as FTPL
from hannan.mathematics.potentials import FTRL as FTRL
from hannan.mathematics.potentials import Potential as Potential
from hannan.mathematics.regularizers import Entropy as Entropy
from hannan.mathematics.regularizers import LogBarrier as LogBarrier
from hannan.mathematics.regularizers import Regularizer as Regularizer
from hannan.mathematics.regularizers import Tsallis as Tsallis
from hannan.mathematics.smoothing import Smoothing as Smoothing
from hannan.mathematics.smoothing import Stability as Stability
from hannan.players.certificate import Certificate as Certificate
from hannan.players.evidence import Evidence as Evidence
from hannan.players.fleet import Fleet as Fleet
from hannan.players.fleet import Moves as Moves
from hannan.players.fleet_certificate import FleetCertificate as FleetCertificate
from hannan.players.load import load as load
from hannan.players.player import Player as Player
from hannan.players.tickets import Move as Move
from hannan.saving import register as register
from hannan.serving.store import Store as Store
from hannan.tables.combine.combiner import Combiner as Combiner
from hannan.tables.combine.conformal import Conformal as Conformal
from hannan.tables.combine.coverage_certificate import CoverageCertificate as CoverageCertificate
from hannan.tables.combine.function import Combined as Combined
from hannan.tables.combine.function import combine as combine
from hannan.tables.replay import Replay as Replay
from hannan.tables.replay import replay as replay
from hannan.tables.route import Routes as Routes
from hannan.tables.route import route as route

__all__ = [
    "__version__", "tsallis_log", "max_divergence", "tsallis_divergence", "hockey_stick", "clip", "Smoothing",
    "Stability", "Law", "Exponential", "Gamma", "Gumbel", "Weibull", "Laplace", "Gaussian", "Frechet",
    "Pareto", "Regularizer", "Entropy", "Tsallis", "LogBarrier", "Potential", "FTPL", "FTRL", "audit",
    "Finding", "audit_convex", "Bound", "Withheld", "Fixed", "Horizon", "BestLoss", "Anytime",
    "SelfConfident", "Estimator", "ImportanceWeighted", "GeometricResampling", "ConditionalResampling",
    "ReducedVariance", "ImplicitExploration", "register", "Move", "Certificate", "Evidence", "Player", "load",
    "Fleet", "Moves", "FleetCertificate", "Experts", "AdaHedge", "Bandit", "ExpertBandit", "Convex",
    "PrivateBall", "BarrierBandit", "OptimisticDescent", "SmoothDescent", "OnlineNewton",
    "OnlineGradientDescent", "ExponentiatedGradient", "Domain", "Ball", "Box", "Simplex", "Polytope", "Loss",
    "RankOne", "Linear", "Squared", "Logistic", "Huber", "SmoothedHinge", "Noise", "GammaNoise",
    "GaussianNoise", "Privacy", "PrivacyCurve", "Squint", "AdaNormalHedge", "MLPoly", "FixedShare", "Exp3S",
    "LBInf", "Green", "Exp3Light", "UCB1", "MOSS", "KLUCB", "EpsilonGreedy", "ExploreThenCommit", "Thompson",
    "TsallisShannon", "SlateBandit", "SlateExperts", "PrivateExperts", "LocallyPrivate", "Dropout",
    "RandomWalk", "RandomPlayout", "MYGA", "FPL", "FPLTrix", "MSets", "ShortestPaths", "Assignments", "hedge",
    "exp3", "exp4", "exp4_clipped", "tsallis_inf", "frechet_ftpl", "exp3_ix", "fixed_share", "exp3_s",
    "gaussian_ftpl", "play", "Record", "compare", "Comparison", "sweep", "combine", "Combined", "Combiner",
    "Conformal", "CoverageCertificate", "replay", "Replay", "route", "Routes", "Store", "adversaries",
    "checks"
]
