"""The API's document is complete: every operation is explained, with shapes and true examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pydantic
import pytest
from jsonschema import Draft202012Validator

from structuredbandits.service.api import models, ofrep_models
from structuredbandits.service.api import summary_models as figures
from structuredbandits.service.api.openapi_examples import EXAMPLES, Documented
from tests.service.conftest import Api

JSON = "application/json"
# Asked by machines without keys, and not refused for what was asked.
NEVER_REFUSED = {"/livez", "/readyz"}


@pytest.fixture
def document(lite: Api) -> dict[str, Any]:
    return dict(lite.client.get("/openapi.json").json())


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def contents(operation: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """All bodies and answers of an operation: where, kind, content."""
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        yield "body", kind, content
    for status, response in operation["responses"].items():
        for kind, content in response.get("content", {}).items():
            yield status, kind, content


def examples(document: dict[str, Any], content: dict[str, Any]) -> list[Any]:
    if "example" in content:
        return [content["example"]]
    schema = content["schema"]
    options = [one for one in schema.get("anyOf", [schema]) if one.get("type") != "null"]
    found: list[Any] = []
    for one in options:
        if "$ref" in one:
            one = document["components"]["schemas"][one["$ref"].rpartition("/")[2]]
        found += one.get("examples", [])
    return found


def faults(document: dict[str, Any]) -> list[str]:
    """What is missing in a document, in words."""
    found = []
    names = [operation.get("operationId") for *_, operation in operations(document)]
    if len(set(names)) != len(names):
        found.append("operations share a name")
    for method, path, operation in operations(document):
        here = f"{method} {path}"
        for part in ("summary", "description", "tags", "operationId", "responses"):
            if not operation.get(part):
                found.append(f"{here}: no {part}")
        for one in operation.get("parameters", ()):
            if not one.get("description") or not one.get("schema"):
                found.append(f"{here}: the parameter {one['name']} is not explained")
        statuses = operation.get("responses", {})
        if not any(status.startswith("2") for status in statuses):
            found.append(f"{here}: no answer")
        if path not in NEVER_REFUSED and not {"401", "403", "404", "422", "429", "503"} <= {
            *statuses
        }:
            found.append(f"{here}: error responses are missing")
        for status, response in statuses.items():
            if not response.get("description"):
                found.append(f"{here}: {status} is not explained")
            if not response.get("content") and status not in ("204", "304"):
                found.append(f"{here}: {status} has no content")
        for where, kind, content in contents(operation):
            if not content.get("schema"):
                found.append(f"{here}: {where} ({kind}) has no schema")
            elif "binary" not in str(content["schema"]) and not examples(document, content):
                found.append(f"{here}: {where} ({kind}) has no example")
    return found


def test_nothing_is_missing(document: dict[str, Any]) -> None:
    assert len(list(operations(document))) >= 25
    assert faults(document) == []


@pytest.mark.parametrize(
    "part", ["summary", "description", "tags", "responses", "example", "schema", "parameter"]
)
def test_what_is_missing_is_noticed(document: dict[str, Any], part: str) -> None:
    path = document["paths"]["/v1/experiments/{experiment}/summary"]["get"]
    if part == "example":
        del document["components"]["schemas"]["SummaryAnswer"]["examples"]
    elif part == "schema":
        del path["responses"]["200"]["content"][JSON]["schema"]
    elif part == "parameter":
        del path["parameters"][-1]["description"]
    else:
        del path[part]
        path.setdefault("responses", {})
    assert faults(document) != []


def test_every_example_fits_its_schema(document: dict[str, Any]) -> None:
    checked = 0
    for method, path, operation in operations(document):
        for where, kind, content in contents(operation):
            if kind != JSON:
                continue
            schema = {**content["schema"], "components": document["components"]}
            validator = Draft202012Validator(schema)
            for example in examples(document, content):
                problems = [error.message for error in validator.iter_errors(example)]
                assert problems == [], (method, path, where)
                checked += 1
    assert checked > 100


def test_every_model_with_an_example_is_one_of_the_api() -> None:
    known = {
        name: thing
        for module in (models, figures, ofrep_models)
        for name, thing in vars(module).items()
        if isinstance(thing, type) and issubclass(thing, Documented)
    }
    for name, shown in EXAMPLES.items():
        for example in shown:
            known[name].model_validate(example)


def exactly(model: type[pydantic.BaseModel], answer: Any) -> None:
    """An answer has the fields that are documented, no more and no fewer, with their types."""
    read = model.model_validate(answer)
    assert read.model_dump(mode="json", exclude_unset=True) == answer


def test_answers_are_what_is_documented(lite: Api) -> None:
    made = lite.create(floor=0.3, reward_deadline_seconds=3600.0)
    exactly(models.ExperimentAnswer, made)
    decisions = [lite.decide(f"visitor-{number % 3}") for number in range(12)]
    exactly(models.DecisionAnswer, decisions[0])
    for number, decision in enumerate(decisions[:10]):
        exactly(models.RewardAnswer, lite.reward(decision, 3.0 + number % 2).json())
    path = "/v1/experiments/shop"

    def get(rest: str) -> Any:
        answer = lite.client.get(path + rest)
        assert answer.status_code == 200, answer.text
        return answer.json()

    exactly(figures.SummaryAnswer, get("/summary"))
    exactly(models.StructureAnswer, get("/structures/1"))
    exactly(models.SubjectList, get("/subjects"))
    exactly(models.SubjectAnswer, get("/subjects/visitor-1"))
    exactly(models.StepsAnswer, get("/subjects/visitor-1/steps"))
    exactly(models.ExperimentList, lite.client.get("/v1/experiments").json())
    exactly(figures.StatusAnswer, lite.client.get("/livez").json())
    exactly(figures.StatusAnswer, lite.client.get("/readyz").json())
    key = lite.client.post("/v1/keys", json={"scopes": ["read"]})
    exactly(models.NewKeyAnswer, key.json())
    exactly(models.KeyList, lite.client.get("/v1/keys").json())
    exactly(models.ErrorAnswer, lite.client.get("/v1/experiments/nowhere").json())
