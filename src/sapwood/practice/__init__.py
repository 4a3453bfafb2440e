"""Practice: compare tables, drop rows that fit badly, blend models, learn from unlabelled rows."""

from sapwood.practice.blending import Blend, blend
from sapwood.practice.drift import DriftReport, drift_report
from sapwood.practice.positive_unlabelled import PositiveUnlabelled
from sapwood.practice.self_training import SelfTraining
from sapwood.practice.trimming import Trimmed, trim

__all__ = [
    "Blend", "DriftReport", "PositiveUnlabelled", "SelfTraining", "Trimmed", "blend", "drift_report", "trim",
]  # fmt: skip
