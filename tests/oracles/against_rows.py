"""Against whom the bound of each learner holds: a row for every learner of the package."""

import hannan as hn

T = 4000
ROWS = [
    # learner, against, sense, proof (None: no number is printed)
    (hn.Experts(8), "any", "mean", "whole"),
    (hn.Experts(8, hn.Entropy(), hn.Horizon(T)), "any", "mean", "whole"),
    (hn.Experts(8, hn.Tsallis(0.5), hn.Anytime()), "any", "mean", "whole"),
    (hn.Experts(8, hn.LogBarrier(), hn.BestLoss(100, rounds=T)), "any", "mean", "whole"),
    (hn.Experts(8, hn.Laplace(), hn.Fixed(300.0)), "any", "mean", "whole"),
    (hn.AdaHedge(8, loss_range=(0, 1)), "any", "mean", "whole"),
    (hn.Squint(8), "any", "mean", "numerical"),
    (hn.AdaNormalHedge(8), "any", "mean", "numerical"),
    (hn.MLPoly(8), "any", "mean", "whole"),
    (hn.FixedShare(8, scale=100.0, share=1e-6), "any", "mean", "whole"),
    (hn.Dropout(8), "oblivious", "kept", "published"),
    (hn.RandomWalk(8), "oblivious", "kept", "published"),
    (hn.Bandit(8), "oblivious", "arm", "whole"),
    (hn.Bandit(8, hn.Entropy(), hn.Horizon(T)), "oblivious", "arm", "whole"),
    (hn.Bandit(8, hn.Exponential()), "oblivious", "arm", "whole"),
    (hn.Bandit(8, hn.Tsallis(0.5)), "oblivious", "arm", "whole"),
    (hn.Bandit(8, hn.Exponential(), hn.Horizon(T), hn.GeometricResampling(1000)), "oblivious", "arm", "whole"),
    (hn.Bandit(8, hn.Exponential(), hn.Horizon(T), hn.ConditionalResampling(1000)), "oblivious", "arm", "whole"),
    (hn.Bandit(8, hn.LogBarrier(), hn.BestLoss(100, rounds=T)), "oblivious", "arm", "whole"),
    (hn.Bandit(8, hn.LogBarrier(), hn.SelfConfident(T)), "oblivious", "arm", "whole"),
    (hn.exp3_ix(8, T), "oblivious", "arm", "whole"),
    (hn.Exp3S(8, scale=1000.0, share=1e-6), "oblivious", "path", "whole"),
    (hn.TsallisShannon(8), "oblivious", "arm", "published"),
    (hn.LBInf(8, T), None, None, None),
    (hn.ExpertBandit(4, 8), "oblivious", "expert", "whole"),
    (hn.ExpertBandit(4, 8, clip="tuned"), "oblivious", "expert", "whole"),
    (hn.MYGA(4, 8, T), None, None, None),
    (hn.FPL.tuned(hn.MSets(6, 2), 10**6), "any", "draws", "whole"),
    (hn.FPL.tuned(hn.MSets(6, 2), 10**6, "exponential"), "any", "draws", "whole"),
    (hn.FPLTrix(hn.MSets(6, 2)), None, None, None),
    (hn.OnlineGradientDescent(hn.Ball(3), 1.0), "any", "moves", "whole"),
    (hn.ExponentiatedGradient(hn.Simplex(3), 1.0), "any", "moves", "whole"),
    (hn.Convex(hn.Ball(3), 1.0, loss_bound=2.0, tuning=hn.Horizon(10**6)), "any", "draws", "whole"),
    (hn.Convex(hn.Ball(3), 1.0, loss_bound=2.0, tuning=hn.Horizon(10**6), fresh=False), "oblivious", "kept", "whole"),
]
