"""Every exception that Sapwood raises on purpose.

::

    SapwoodError
    ├── InputError (ValueError)        the data cannot be used as they are
    │   └── SchemaError                the columns are not those of training
    ├── InputTypeError (TypeError)     an argument is of a kind that cannot be used
    ├── ParameterError (ValueError)    a parameter is unknown or out of range
    ├── TrainingError (RuntimeError)   training cannot go on
    ├── OutOfMemoryError (MemoryError) training would need more memory than there is
    ├── ModelFileError (ValueError)    the file is damaged, foreign or too new
    └── CheckpointError (ValueError)   the checkpoint is damaged, in use or of another training

    SapwoodWarning (UserWarning)       the data can be used, but are probably not what was meant
"""

from __future__ import annotations


class SapwoodError(Exception):
    """Anything Sapwood refuses to do."""


class InputError(SapwoodError, ValueError):
    """The data cannot be used as they are."""


class SchemaError(InputError):
    """The columns are not those the model was trained on."""


class InputTypeError(SapwoodError, TypeError):
    """An argument is of a kind that cannot be used."""


class ParameterError(SapwoodError, ValueError):
    """A parameter is unknown or out of range."""


class TrainingError(SapwoodError, RuntimeError):
    """Training cannot go on."""


class OutOfMemoryError(SapwoodError, MemoryError):
    """Training would need more memory than there is."""


class ModelFileError(SapwoodError, ValueError):
    """A model file is damaged, foreign or too new."""


class CheckpointError(SapwoodError, ValueError):
    """A checkpoint is damaged, in use or of another training."""


class SapwoodWarning(UserWarning):
    """The data can be used, but are probably not what was meant."""
