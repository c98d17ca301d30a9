"""Evaluates policies over vector envs, each planned episode once."""

from batchenv.evaluation.result import Evaluation
from batchenv.evaluation.run import evaluate

__all__ = ["Evaluation", "evaluate"]
