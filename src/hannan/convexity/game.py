"""Whole convex games: every run in compiled code, on any number of threads, with one record."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hannan import _engine, refusals, streams
from hannan.bounds import Bound
from hannan.convexity.hindsight import best_in_hindsight
from hannan.convexity.leader import Leader, columns, judge, region_of
from hannan.convexity.own_phi import ON_YOUR_WORD, refuse_at
from hannan.convexity.leader import Leader, columns
from hannan.convexity.own_phi import ON_YOUR_WORD, refuse_at
    for t, loss in enumerate(losses):
        x, _ = leader.act()
        refuse_at(loss, x, learner.lipschitz, learner.loss_bound)
        leader.observe(x, loss)
        own[marks == t + 1] = leader.run.own
        if len(moves):
            moves[t] = x
    return learner.solver_cost(leader.run.ridge, leader.run.distance)
    if leader.stepped or isinstance(losses, RankOne):
        for t, loss in enumerate(losses):
            x, _ = leader.act()
            refuse_at(loss, x, learner.lipschitz, learner.loss_bound)
            leader.observe(x, loss)
            own[marks == t + 1] = leader.state[convex.OWN_LOSS]
            if len(moves):
                moves[t] = x
    else:
        code, z, y = columns(losses)
        leader.prepare(losses, len(losses))
        for start, stop, here in _chunks(len(losses), marks):
            room = np.zeros(len(here))
            status = convex.curved_game(
                leader.rules, leader.region, leader.sums, leader.state, leader.model, code,
                z[start:stop], y[start:stop], here - start, room, moves[start:stop], True,
            )  # fmt: skip
            leader.judge(status, float(leader.state[convex.LAST]))
            own[np.searchsorted(marks, here)] = room
    return learner.solver_cost(float(leader.state[convex.RIDGE]), float(leader.state[convex.DISTANCE]))
