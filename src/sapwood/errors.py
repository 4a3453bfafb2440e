"""Exceptions and warnings of Sapwood.

::

    SapwoodError
    ├── InputError (ValueError)        the data cannot be used as they are
    │   └── SchemaError                the columns differ from those of training
    ├── InputTypeError (TypeError)     an argument has an unsupported type
    ├── ParameterError (ValueError)    a parameter is unknown, out of range or not supported with another
    ├── TrainingError (RuntimeError)   training cannot continue
    ├── OutOfMemoryError (MemoryError) training would need more memory than is available
    ├── ModelFileError (ValueError)    the file is damaged, unsupported or too new
    └── CheckpointError (ValueError)   the checkpoint is damaged, in use or of another run

    TrainingInterrupted (KeyboardInterrupt)  Ctrl-C ended training; its attribute ``model`` is the model so far

    SapwoodWarning (UserWarning)       the data can be used, but are probably not what was intended
    └── NoSplitWarning                 no tree could be split: the model is a constant
"""

from __future__ import annotations

import sys
import warnings
from typing import Any


class SapwoodError(Exception):
    """Base class of all errors that Sapwood raises."""


class InputError(SapwoodError, ValueError):
    """The data cannot be used as they are."""


class SchemaError(InputError):
    """The columns differ from those that the model was trained on."""


class InputTypeError(SapwoodError, TypeError):
    """An argument has an unsupported type."""


class ParameterError(SapwoodError, ValueError):
    """A parameter is unknown, out of range or not supported with another one."""


class TrainingError(SapwoodError, RuntimeError):
    """Training cannot continue."""


class OutOfMemoryError(SapwoodError, MemoryError):
    """Training would need more memory than is available."""


class ModelFileError(SapwoodError, ValueError):
    """A model file is damaged, of an unsupported format or written by a newer version."""


class CheckpointError(SapwoodError, ValueError):
    """A checkpoint is damaged, in use or belongs to another training run."""


class TrainingInterrupted(KeyboardInterrupt):
    """Ctrl-C ended training after some rounds.

    ``model`` is the model so far; an estimator that was being fitted has it too, as ``model_``.
    """

    def __init__(self, message: str, model: Any) -> None:
        super().__init__(message)
        self.model = model


class SapwoodWarning(UserWarning):
    """The data can be used, but are probably not what was intended."""


class NoSplitWarning(SapwoodWarning):
    """No tree could be split: all rows get the same prediction."""


def warn_user(message: str, category: type[Warning] = SapwoodWarning) -> None:
    """Issue a warning at the line that called Sapwood: the innermost one outside of it."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "sapwood":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
