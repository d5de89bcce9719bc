"""The Kubernetes manifests, the Grafana dashboard and the alert rules."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from structuredbandits.service.metrics import Metrics

DEPLOY = Path(__file__).parents[2] / "deploy"
OVERLAYS = ["development", "production"]
VERSION = "1.31"
SPECIAL = {"sum", "by", "le", "rate", "max", "histogram_quantile"}


def resources(folder: Path) -> Iterator[dict[str, Any]]:
    """All resources that a kustomization combines."""
    found = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    assert found["kind"] == "Kustomization"
    for name in found["resources"]:
        path = (folder / name).resolve()
        if path.is_dir():
            yield from resources(path)
        else:
            yield from yaml.safe_load_all(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_manifest_is_valid(overlay: str) -> None:
    found = list(resources(DEPLOY / "kubernetes" / "overlays" / overlay))
    assert len(found) == {"development": 2, "production": 5}[overlay]
    for resource in found:
        kubernetes_validate.validate(resource, VERSION, strict=True)


def test_an_invalid_manifest_is_found() -> None:
    service = next(
        one for one in resources(DEPLOY / "kubernetes" / "base") if one["kind"] == "Service"
    )
    service["spec"]["prots"] = []
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(service, VERSION, strict=True)


def test_selectors_and_probes_fit_the_pods() -> None:
    found = {
        one["kind"]: one for one in resources(DEPLOY / "kubernetes" / "overlays" / "production")
    }
    pods = found["Deployment"]["spec"]["template"]
    labels = pods["metadata"]["labels"].items()
    for selector in (
        found["Deployment"]["spec"]["selector"]["matchLabels"],
        found["Service"]["spec"]["selector"],
        found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
    ):
        assert selector.items() <= labels
    (container,) = pods["spec"]["containers"]
    assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    target = found["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert target["name"] == found["Deployment"]["metadata"]["name"]
    smallest = found["HorizontalPodAutoscaler"]["spec"]["minReplicas"]
    assert found["PodDisruptionBudget"]["spec"]["minAvailable"] < smallest


def expressions() -> list[str]:
    """All queries of the dashboard and of the alert rules."""
    board = json.loads((DEPLOY / "monitoring" / "grafana-dashboard.json").read_text("utf-8"))
    rules = yaml.safe_load((DEPLOY / "monitoring" / "alerts.yaml").read_text("utf-8"))
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    return queries + [rule["expr"] for group in rules["groups"] for rule in group["rules"]]


def exported() -> dict[str, set[str]]:
    """The labels of every metric that the service exports."""
    metrics = Metrics()
    metrics.request("GET", "/livez", 200, 0.001)
    metrics.group(1, 0.001)
    metrics.decisions.labels("shop", "stored").inc()
    metrics.rewards.labels("counted").inc()
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(metrics.text(0).decode()):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


@pytest.mark.parametrize("query", expressions())
def test_queries_use_metrics_and_labels_that_exist(query: str) -> None:
    known = exported()
    (name,) = set(re.findall(r"structuredbandits_\w+", query))
    assert name in known
    grouped = {label for part in re.findall(r"by \(([^)]*)\)", query) for label in part.split(", ")}
    selected = set(re.findall(r"[{,]\s*(\w+)=", query))
    assert grouped | selected <= known[name]
    assert query.count("(") == query.count(")")
    words = set(re.findall(r"[a-z_]+", re.sub(r'"[^"]*"|\[\w+\]', "", query)))
    assert words - grouped - selected - {name} <= SPECIAL


def test_alerts_say_what_to_do() -> None:
    rules = yaml.safe_load((DEPLOY / "monitoring" / "alerts.yaml").read_text("utf-8"))
    for group in rules["groups"]:
        for rule in group["rules"]:
            assert rule["labels"]["severity"] in ("page", "ticket")
            assert rule["annotations"]["summary"].endswith(".")
