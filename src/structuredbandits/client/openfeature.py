"""An OpenFeature provider that also sends rewards, through OpenFeature's tracking API.

It is the official OFREP provider, which evaluates flags, with a hook that remembers the decision
behind each evaluation. Install it with ``pip install 'structuredbandits[openfeature]'``.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cachetools import LRUCache
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.flag_evaluation import FlagEvaluationDetails
from openfeature.hook import Hook, HookContext
from openfeature.provider import Metadata
from openfeature.track import TrackingEventDetails

from structuredbandits.client._retry import Retries
from structuredbandits.client._sync_client import Client
from structuredbandits.errors import StructuredBanditsError

_log = logging.getLogger(__name__)
_DECISIONS_KEPT = 10_000


class _Decisions(Hook):
    """The last decision of each experiment and subject, seen in evaluations."""

    def __init__(self) -> None:
        self._kept: LRUCache[tuple[str, str], str] = LRUCache(_DECISIONS_KEPT)
        self._lock = threading.Lock()

    def after(
        self,
        hook_context: HookContext,
        details: FlagEvaluationDetails[Any],
        hints: Mapping[str, Any],
    ) -> None:
        decision = details.flag_metadata.get("decision")
        subject = hook_context.evaluation_context.targeting_key
        if isinstance(decision, str) and subject is not None:
            with self._lock:
                self._kept[hook_context.flag_key, subject] = decision

    def last(self, experiment: str, subject: str | None) -> str | None:
        with self._lock:
            return None if subject is None else self._kept.get((experiment, subject))


class TrackingProvider(OFREPProvider):
    """Evaluates flags with the service, and sends tracking events to it as rewards.

    The name of a tracking event is the experiment. Its value is the reward, 1 if it has none. The
    reward is that of the subject's last decision in this process, or of the decision that the
    event's attribute ``decision`` names. Rewards are sent in the background; `shutdown` waits for
    them.

    Parameters
    ----------
    url
        The address of the service.
    key
        An API key with the scopes ``decide`` and ``reward``.
    timeout_seconds
        Time limit of one evaluation.
    retries
        How often and how long to retry a reward.

    Examples
    --------
    >>> TrackingProvider("http://127.0.0.1:8000", key="sb_secret").get_metadata().name
    'structuredbandits'
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout_seconds: float = 5.0,
        retries: Retries | None = None,
    ) -> None:
        def headers() -> dict[str, str]:
            return {} if key is None else {"Authorization": f"Bearer {key}"}

        super().__init__(url, headers_factory=headers, timeout=timeout_seconds)
        self._decisions = _Decisions()
        self._client = Client(url, key, retries=retries)
        self._sender = ThreadPoolExecutor(1, thread_name_prefix="rewards")

    def get_metadata(self) -> Metadata:
        return Metadata(name="structuredbandits")

    def get_provider_hooks(self) -> list[Hook]:
        return [self._decisions]

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Send a reward in the background; without a decision, log a warning."""
        details = tracking_event_details or TrackingEventDetails()
        subject = None if evaluation_context is None else evaluation_context.targeting_key
        named = details.attributes.get("decision")
        decision = str(named) if named else self._decisions.last(tracking_event_name, subject)
        if decision is None:
            _log.warning(
                "no reward was sent for %r: evaluate the flag first, or name the decision in the "
                "attribute 'decision'",
                tracking_event_name,
            )
            return
        value = 1.0 if details.value is None else float(details.value)
        self._sender.submit(self._send, decision, value)

    def _send(self, decision: str, value: float) -> None:
        try:
            self._client.reward(decision, value)
        except StructuredBanditsError as error:
            _log.warning("a reward was not counted: %s", error)

    def shutdown(self) -> None:
        """Send the rewards that are still waiting, and close the connections."""
        self._sender.shutdown()
        self._client.close()
        self.session.close()
