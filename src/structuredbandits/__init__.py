"""Structured bandits: choosing well among arms whose mean rewards depend on a hidden parameter.

>>> import structuredbandits as sb
>>> structure = sb.load_structure("three-arms")
>>> policy = sb.make_policy("ts-c", structure, seed=7)
>>> arm = policy.pull()
>>> policy.update(arm, 4.2)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from structuredbandits._version import __version__

if TYPE_CHECKING:
    from structuredbandits import experiments as experiments
    from structuredbandits import testing as testing
    from structuredbandits.environments import Bernoulli as Bernoulli
    from structuredbandits.environments import Gaussian as Gaussian
    from structuredbandits.environments import Ratings as Ratings
    from structuredbandits.errors import DamagedFile as DamagedFile
    from structuredbandits.errors import FileError as FileError
    from structuredbandits.errors import InvalidInput as InvalidInput
    from structuredbandits.errors import InvalidParameter as InvalidParameter
    from structuredbandits.errors import InvalidPolicy as InvalidPolicy
    from structuredbandits.errors import InvalidReward as InvalidReward
    from structuredbandits.errors import InvalidStructure as InvalidStructure
    from structuredbandits.errors import StructuredBanditsError as StructuredBanditsError
    from structuredbandits.errors import StructureWarning as StructureWarning
    from structuredbandits.errors import UnknownArm as UnknownArm
    from structuredbandits.errors import WrongVersion as WrongVersion
    from structuredbandits.evaluation import Decision as Decision
    from structuredbandits.evaluation import Estimate as Estimate
    from structuredbandits.evaluation import evaluate as evaluate
    from structuredbandits.evaluation import simulate_log as simulate_log
    from structuredbandits.identification import Identification as Identification
    from structuredbandits.identification import identify as identify
    from structuredbandits.learning import Cells as Cells
    from structuredbandits.learning import LearningReport as LearningReport
    from structuredbandits.learning import estimate_structure as estimate_structure
    from structuredbandits.learning import learn_structure as learn_structure
    from structuredbandits.learning import learning_report as learning_report
    from structuredbandits.learning import read_cells as read_cells
    from structuredbandits.learning import simulate_survey as simulate_survey
    from structuredbandits.policies.algorithm import Algorithm as Algorithm
    from structuredbandits.policies.batch import probabilities_many as probabilities_many
    from structuredbandits.policies.batch import pull_many as pull_many
    from structuredbandits.policies.classical.bayes_ucb import BayesUCB as BayesUCB
    from structuredbandits.policies.classical.epsilon_greedy import EpsilonGreedy as EpsilonGreedy
    from structuredbandits.policies.classical.imed import IMED as IMED
    from structuredbandits.policies.classical.kl_ucb import KLUCB as KLUCB
    from structuredbandits.policies.classical.kl_ucb import KLUCBBernoulli as KLUCBBernoulli
    from structuredbandits.policies.classical.moss import MOSS as MOSS
    from structuredbandits.policies.classical.thompson import ThompsonSampling as ThompsonSampling
    from structuredbandits.policies.classical.thompson_beta import ThompsonBeta as ThompsonBeta
    from structuredbandits.policies.classical.ucb import UCB as UCB
    from structuredbandits.policies.classical.ucb_tuned import UCBTuned as UCBTuned
    from structuredbandits.policies.competitive import Competitive as Competitive
    from structuredbandits.policies.diagnostics import Diagnostics as Diagnostics
    from structuredbandits.policies.floor import ExplorationFloor as ExplorationFloor
    from structuredbandits.policies.informative import Informative as Informative
    from structuredbandits.policies.own import index_policy as index_policy
    from structuredbandits.policies.policy import Policy as Policy
    from structuredbandits.policies.registry import make_algorithm as make_algorithm
    from structuredbandits.policies.registry import make_policy as make_policy
    from structuredbandits.policies.registry import policy_names as policy_names
    from structuredbandits.policies.robust import Robust as Robust
    from structuredbandits.policies.structured.glm_ucb import GLMUCB as GLMUCB
    from structuredbandits.policies.structured.hierarchical import Hierarchical as Hierarchical
    from structuredbandits.policies.structured.hierarchical_competitive import (
        HierarchicalCompetitive as HierarchicalCompetitive,
    )
    from structuredbandits.policies.structured.hierarchical_index import (
        HierarchicalIndex as HierarchicalIndex,
    )
    from structuredbandits.policies.structured.ids import IDS as IDS
    from structuredbandits.policies.structured.linear_greedy import LinearGreedy as LinearGreedy
    from structuredbandits.policies.structured.oful import OFUL as OFUL
    from structuredbandits.policies.structured.ossb import OSSB as OSSB
    from structuredbandits.policies.structured.posterior import (
        PosteriorSampling as PosteriorSampling,
    )
    from structuredbandits.policies.structured.ucb_g import UCBG as UCBG
    from structuredbandits.policies.structured.ucb_s import UCBS as UCBS
    from structuredbandits.policies.structured.wagp import WAGP as WAGP
    from structuredbandits.problems import Problem as Problem
    from structuredbandits.problems import load_problem as load_problem
    from structuredbandits.problems import load_structure as load_structure
    from structuredbandits.problems import problem_names as problem_names
    from structuredbandits.recommendation import Recommendation as Recommendation
    from structuredbandits.recommendation import recommend as recommend
    from structuredbandits.simulation import Results as Results
    from structuredbandits.simulation import load_results as load_results
    from structuredbandits.simulation import simulate as simulate
    from structuredbandits.simulation.sweeps import SweepResults as SweepResults
    from structuredbandits.simulation.sweeps import load_sweep as load_sweep
    from structuredbandits.simulation.sweeps import sweep as sweep
    from structuredbandits.structure import Box as Box
    from structuredbandits.structure import Finite as Finite
    from structuredbandits.structure import Interval as Interval
    from structuredbandits.structure import Structure as Structure
    from structuredbandits.theory import Analysis as Analysis
    from structuredbandits.theory import AnalysisTable as AnalysisTable
    from structuredbandits.theory import C_epsilon as C_epsilon
    from structuredbandits.theory import analyze as analyze
    from structuredbandits.theory import lower_bound as lower_bound

#: Where each public name lives. Names are imported when they are first used, so that
#: ``import structuredbandits`` and ``structuredbandits --help`` stay quick.
_HOMES: dict[str, tuple[str, ...]] = {
    "environments": ("Bernoulli", "Gaussian", "Ratings"),
    "errors": (
        "DamagedFile",
        "FileError",
        "InvalidInput",
        "InvalidParameter",
        "InvalidPolicy",
        "InvalidReward",
        "InvalidStructure",
        "StructureWarning",
        "StructuredBanditsError",
        "UnknownArm",
        "WrongVersion",
    ),
    "evaluation": ("Decision", "Estimate", "evaluate", "simulate_log"),
    "learning": (
        "Cells",
        "LearningReport",
        "estimate_structure",
        "learn_structure",
        "learning_report",
        "read_cells",
        "simulate_survey",
    ),
    "identification": ("Identification", "identify"),
    "policies.algorithm": ("Algorithm",),
    "policies.batch": ("probabilities_many", "pull_many"),
    "policies.classical.bayes_ucb": ("BayesUCB",),
    "policies.classical.epsilon_greedy": ("EpsilonGreedy",),
    "policies.classical.imed": ("IMED",),
    "policies.classical.kl_ucb": ("KLUCB", "KLUCBBernoulli"),
    "policies.classical.moss": ("MOSS",),
    "policies.classical.thompson": ("ThompsonSampling",),
    "policies.classical.thompson_beta": ("ThompsonBeta",),
    "policies.classical.ucb": ("UCB",),
    "policies.classical.ucb_tuned": ("UCBTuned",),
    "policies.competitive": ("Competitive",),
    "policies.diagnostics": ("Diagnostics",),
    "policies.floor": ("ExplorationFloor",),
    "policies.informative": ("Informative",),
    "policies.own": ("index_policy",),
    "policies.policy": ("Policy",),
    "policies.registry": ("make_algorithm", "make_policy", "policy_names"),
    "policies.robust": ("Robust",),
    "policies.structured.glm_ucb": ("GLMUCB",),
    "policies.structured.hierarchical": ("Hierarchical",),
    "policies.structured.hierarchical_competitive": ("HierarchicalCompetitive",),
    "policies.structured.hierarchical_index": ("HierarchicalIndex",),
    "policies.structured.ids": ("IDS",),
    "policies.structured.linear_greedy": ("LinearGreedy",),
    "policies.structured.oful": ("OFUL",),
    "policies.structured.ossb": ("OSSB",),
    "policies.structured.posterior": ("PosteriorSampling",),
    "policies.structured.ucb_g": ("UCBG",),
    "policies.structured.ucb_s": ("UCBS",),
    "policies.structured.wagp": ("WAGP",),
    "problems": ("Problem", "load_problem", "load_structure", "problem_names"),
    "recommendation": ("Recommendation", "recommend"),
    "simulation": ("Results", "load_results", "simulate"),
    "simulation.sweeps": ("SweepResults", "load_sweep", "sweep"),
    "theory": ("Analysis", "AnalysisTable", "C_epsilon", "analyze", "lower_bound"),
    "structure": ("Box", "Finite", "Interval", "Structure"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = ("experiments", "testing")

__all__ = ["__version__", *sorted(_HOME_OF), *_MODULES]  # names from the table


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
