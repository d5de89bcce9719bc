"""The official OpenFeature SDK and OFREP provider for Python, unmodified, and our tracking."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from openfeature import api as openfeature
from openfeature.client import OpenFeatureClient
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import Reason
from openfeature.provider import AbstractProvider
from openfeature.track import TrackingEventDetails

from structuredbandits.client.openfeature import TrackingProvider
from tests.service.conftest import Api, running, settings_for

ANA = EvaluationContext("ana", {"country": "DE"})
PAYLOADS = {arm: {"banner": f"{arm}.png"} for arm in ("1", "2", "3")}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """One service for all tests of this file."""
    for api in running(settings_for(str(tmp_path_factory.mktemp("flags") / "service.db"))):
        api.create("shop")
        api.create("banner", payloads=PAYLOADS)
        yield api


def client_of(provider: AbstractProvider) -> Iterator[OpenFeatureClient]:
    openfeature.set_provider(provider)
    yield openfeature.get_client()
    openfeature.clear_providers()


@pytest.fixture
def official(shop: Api) -> Iterator[OpenFeatureClient]:
    yield from client_of(OFREPProvider(str(shop.client.base_url), timeout=600.0))


@pytest.fixture
def tracking(shop: Api) -> Iterator[OpenFeatureClient]:
    url = str(shop.client.base_url).rstrip("/")
    yield from client_of(TrackingProvider(url, timeout_seconds=600.0))


def test_the_official_provider_evaluates_an_experiment(
    official: OpenFeatureClient, shop: Api
) -> None:
    found = official.get_string_details("shop", "none", ANA)
    assert found.error_code is None
    assert found.reason == Reason.SPLIT
    assert found.value == found.variant
    assert official.get_string_details("shop", "none", ANA) == found
    reward = shop.reward({"id": found.flag_metadata["decision"]}, 3.0)
    assert reward.json()["counted"]
    assert 0.0 < float(found.flag_metadata["probability"]) <= 1.0


def test_the_official_provider_returns_payloads(official: OpenFeatureClient) -> None:
    found = official.get_object_details("banner", {}, ANA)
    assert found.value == PAYLOADS[str(found.variant)]


@pytest.mark.parametrize(
    ("flag", "context", "code"),
    [
        ("nowhere", ANA, ErrorCode.FLAG_NOT_FOUND),
        ("shop", EvaluationContext(), ErrorCode.TARGETING_KEY_MISSING),
        ("shop", EvaluationContext(".."), ErrorCode.INVALID_CONTEXT),
    ],
)
def test_the_official_provider_understands_errors(
    official: OpenFeatureClient, flag: str, context: EvaluationContext, code: ErrorCode
) -> None:
    found = official.get_string_details(flag, "none", context)
    assert (found.value, found.error_code) == ("none", code)


def test_tracking_sends_the_reward(tracking: OpenFeatureClient, shop: Api) -> None:
    who = EvaluationContext("carla")
    tracking.get_string_value("shop", "none", who)
    tracking.track("shop", who, TrackingEventDetails(value=2.5))
    other = shop.decide("dora")
    tracking.track("shop", who, TrackingEventDetails(attributes={"decision": other["id"]}))
    openfeature.shutdown()  # waits for the rewards
    subjects = {
        name: shop.client.get(f"/v1/experiments/shop/subjects/{name}").json()
        for name in ("carla", "dora")
    }
    means = {
        name: [arm["mean"] for arm in found["arms"].values() if arm["count"]]
        for name, found in subjects.items()
    }
    assert means == {"carla": [2.5], "dora": [1.0]}


def test_tracking_without_a_decision_is_reported(
    tracking: OpenFeatureClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        tracking.track("shop", EvaluationContext("nobody"))
        tracking.track("shop", ANA, TrackingEventDetails(attributes={"decision": "wrong"}))
        openfeature.shutdown()
    first, second = caplog.messages
    assert "evaluate the flag first" in first
    assert "there is no decision 'wrong'" in second
