"""The exception tree is small, and what it promises about built-in errors holds."""

import inspect

import pytest

from structuredbandits import errors


def tree() -> dict[str, type[BaseException]]:
    return {
        name: value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, BaseException)
    }


def test_every_error_has_the_common_base() -> None:
    for name, error in tree().items():
        if name != "StructureWarning":
            assert issubclass(error, errors.StructuredBanditsError)


def test_every_error_is_drawn_in_the_docstring() -> None:
    assert errors.__doc__ is not None
    for name in tree():
        assert name in errors.__doc__


@pytest.mark.parametrize(
    "error",
    [
        errors.InvalidStructure,
        errors.InvalidParameter,
        errors.InvalidPolicy,
        errors.UnknownArm,
        errors.InvalidReward,
    ],
)
def test_bad_input_is_a_value_error(error: type[Exception]) -> None:
    assert issubclass(error, errors.InvalidInput)
    assert issubclass(error, ValueError)


def test_files_and_warnings() -> None:
    assert issubclass(errors.DamagedFile, errors.FileError)
    assert issubclass(errors.WrongVersion, errors.FileError)
    assert not issubclass(errors.FileError, ValueError)
    assert issubclass(errors.StructureWarning, UserWarning)


def test_a_suggestion_ignores_case_and_lists_when_nothing_is_near() -> None:
    assert errors.suggestion("UCB-d", ["ucb-c", "ts"]) == "did you mean 'ucb-c'?"
    listed = errors.suggestion("zzzz", [f"arm{i}" for i in range(8)])
    assert listed == "choose one of 'arm0', 'arm1', 'arm2', 'arm3', 'arm4' and 3 more"
