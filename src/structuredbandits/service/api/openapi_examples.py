"""An example of every request and response body, by the name of its model.

The documentation shows them, and a test validates them. No value is null, because the document
leaves those out.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

_MOMENT = "2026-03-01T09:30:00.000000Z"
_EXPERIMENT: dict[str, Any] = {
    "id": "shop-window",
    "state": "running",
    "policy": "ts-c",
    "settings": {
        "horizon": 1000,
        "floor": 0.02,
        "reward_deadline_seconds": 86400.0,
        "default_reward": 0.0,
        "retention_days": 365.0,
        "on_database_failure": "refuse",
        "sticky_seconds": 1800.0,
        "payloads": {"1": {"banner": "spring.png"}, "2": {"banner": "sale.png"}},
    },
    "arms": ["1", "2", "3"],
    "retired_arms": ["3"],
    "structure_version": 1,
    "parameters": 601,
    "created": _MOMENT,
}
_DECISION: dict[str, Any] = {
    "id": "1f-3-9c0ffee5",
    "experiment": "shop-window",
    "subject": "visitor-7",
    "round": 3,
    "arm": "2",
    "probability": 0.8,
    "probabilities": {"1": 0.1, "2": 0.8, "3": 0.1},
    "competitive_arms": ["2"],
    "why": "'2' was drawn with probability 0.8; 12 of 601 parameters are plausible, and 1 arm is "
    "best at one of them.",
    "structure_version": 1,
    "created": _MOMENT,
    "stored": True,
}
_REWARD: dict[str, Any] = {
    "decision": "1f-3-9c0ffee5",
    "reward": 4.0,
    "counted": True,
    "status": "counted",
    "repeated": False,
}
_KEY: dict[str, Any] = {
    "id": "3f2a9c01d4e5",
    "scopes": ["decide", "reward"],
    "experiment": "shop-window",
    "label": "web shop",
    "created": _MOMENT,
    "revoked": _MOMENT,
    "publishable": {
        "origins": ["https://shop.example"],
        "per_address": 600,
        "per_subject": 60,
        "signed": True,
    },
    "expires": _MOMENT,
    "last_used": _MOMENT,
    "requests_per_minute": 600,
}
_AUDIT_LINE: dict[str, Any] = {
    "number": 17,
    "created": _MOMENT,
    "action": "correction",
    "experiment": "shop-window",
    "subject": "visitor-7",
    "key": "3f2a9c01d4e5",
    "detail": {"round": 3, "before": 4.0, "after": 3.0, "reason": "counted twice in the shop"},
}
_SUBJECT: dict[str, Any] = {
    "subject": "visitor-7",
    "structure_version": 1,
    "decided": 3,
    "received": 2,
    "created": _MOMENT,
}
_STEP: dict[str, Any] = {
    "round": 3,
    "decision": "1f-3-9c0ffee5",
    "arm": "2",
    "probability": 0.8,
    "reward": 4.0,
    "state": "rewarded",
    "competitive_arms": ["2"],
    "arms": {"1": {"count": 1, "mean": 3.0}, "2": {"count": 1, "mean": 5.0}},
    "plausible": {"count": 12, "runs": [[44, 55]]},
    "created": _MOMENT,
    "rewarded": _MOMENT,
}
_REFUSED: dict[str, Any] = {
    "error": {
        "code": "unknown_experiment",
        "message": "there is no experiment 'shop' that this key can access.",
        "remedy": "List them with GET /v1/experiments.",
    }
}

_FLAG: dict[str, Any] = {
    "key": "shop-window",
    "reason": "SPLIT",
    "variant": "2",
    "value": {"banner": "sale.png"},
    "metadata": {
        "decision": "1f-3-9c0ffee5",
        "probability": 0.8,
        "structure_version": 1,
        "stored": True,
    },
}
_NOT_EVALUATED: dict[str, Any] = {
    "key": "shop",
    "errorCode": "FLAG_NOT_FOUND",
    "errorDetails": "there is no experiment 'shop' that this key can access.",
}

EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "ErrorAnswer": [_REFUSED],
    "NewExperiment": [
        {
            "id": "shop-window",
            "structure": {"problem": "three-arms"},
            "policy": "ts-c",
            "settings": {"floor": 0.02, "reward_deadline_seconds": 86400, "default_reward": 0.0},
        }
    ],
    "ExperimentChange": [{"state": "paused"}, {"payloads": {"1": {"banner": "spring.png"}}}],
    "NewStructure": [{"structure": {"problem": "three-arms"}}],
    "ExperimentAnswer": [_EXPERIMENT],
    "ExperimentList": [{"experiments": [_EXPERIMENT]}],
    "StructureAnswer": [
        {
            "experiment": "shop-window",
            "version": 1,
            "digest": "9f2c41d0",
            "name": "three-arms",
            "minimize": False,
            "arms": ["1", "2"],
            "sigma": [2.0, 2.0],
            "kind": "interval",
            "parameters": ["0", "6"],
            "values": [[0.0], [6.0]],
            "lower": [[3.0, 6.0], [6.5, 2.0]],
            "upper": [[3.0, 6.0], [6.5, 2.0]],
            "prior": [0.5, 0.5],
            "positions": [0, 600],
        }
    ],
    "NewSubject": [{"subject": "visitor-7"}],
    "SubjectBrief": [_SUBJECT],
    "SubjectList": [{"subjects": [_SUBJECT], "next": "visitor-7"}],
    "SubjectAnswer": [
        {
            "experiment": "shop-window",
            "subject": "visitor-7",
            "structure_version": 1,
            "created": _MOMENT,
            "decided": 3,
            "received": 2,
            "arms": {
                "1": {
                    "count": 2,
                    "pending": 1,
                    "mean": 3.2,
                    "low": 1.1,
                    "high": 5.3,
                    "retired": False,
                }
            },
            "probabilities": {"1": 1.0},
            "competitive_arms": ["1"],
            "plausible": {"count": 2, "of": 601, "runs": [[44, 45]], "labels": ["0.44", "0.45"]},
            "diagnostics": {
                "rewards": 2,
                "best_fit": "0.44",
                "surprise": 0.9,
                "worst_arm": "1",
                "worst_distance": 0.2,
                "empty_rounds": 0,
                "empty_share": 0.0,
                "refuted": False,
                "verdict": "The structure fits: θ = 0.44 explains the rewards.",
            },
        }
    ],
    "StepsAnswer": [
        {
            "experiment": "shop-window",
            "subject": "visitor-7",
            "structure_version": 1,
            "steps": [_STEP],
            "next": 3,
        }
    ],
    "DecisionRequest": [{"subject": "visitor-7"}, {"subject": "visitor-7", "arms": ["1", "2"]}],
    "KeyedDecisionRequest": [{"subject": "visitor-7", "key": "order-4711"}],
    "DecisionBatch": [
        {
            "decisions": [
                {"subject": "visitor-7", "key": "order-4711"},
                {"subject": "visitor-8", "arms": ["1", "2"]},
            ]
        }
    ],
    "DecisionAnswer": [_DECISION],
    "DecisionBatchAnswer": [{"decisions": [_DECISION, _REFUSED]}],
    "RewardRequest": [{"reward": 4.0}],
    "CorrectionRequest": [{"reward": 3.0, "reason": "counted twice in the shop"}],
    "DecisionReward": [{"decision": "1f-3-9c0ffee5", "reward": 4.0}],
    "RewardBatch": [{"rewards": [{"decision": "1f-3-9c0ffee5", "reward": 4.0}]}],
    "RewardAnswer": [_REWARD],
    "RewardBatchAnswer": [{"rewards": [_REWARD, _REFUSED]}],
    "CorrectionAnswer": [
        {
            "decision": "1f-3-9c0ffee5",
            "before": 4.0,
            "reward": 3.0,
            "reason": "counted twice in the shop",
        }
    ],
    "NewKey": [
        {"scopes": ["decide", "reward"], "experiment": "shop-window", "label": "web shop"},
        {
            "scopes": ["decide", "reward"],
            "experiment": "shop-window",
            "publishable": {"origins": ["https://shop.example"], "signed": True},
        },
        {"scopes": ["read"], "label": "reports", "expires_days": 90, "requests_per_minute": 600},
    ],
    "KeyRotation": [{"overlap_hours": 24}],
    "AuditLine": [_AUDIT_LINE],
    "AuditLines": [{"lines": [_AUDIT_LINE], "next": 17}],
    "KeyAnswer": [_KEY],
    "NewKeyAnswer": [
        _KEY | {"key": "sbp_3f2a9c01d4e5_in-the-page", "token_secret": "9f2c41d0-kept-secret"}
    ],
    "KeyList": [{"keys": [_KEY]}],
    "SummaryAnswer": [
        {
            "experiment": "shop-window",
            "now": _MOMENT,
            "as_of": _MOMENT,
            "complete": True,
            "state": "running",
            "policy": "ts-c",
            "minimize": False,
            "subjects": 2,
            "decisions": 40,
            "rewards": 30,
            "defaulted": 0,
            "expired": 0,
            "pending": 10,
            "late": 0,
            "mean_reward": 4.1,
            "standard_error": 0.2,
            "uniform": 3.7,
            "arms": [{"arm": "2", "decisions": 40, "rewards": 30, "mean_reward": 4.1}],
            "buckets": [
                {
                    "start": _MOMENT,
                    "decisions": {"2": 40},
                    "rewards": 30,
                    "mean_reward": 4.1,
                    "uniform": 3.7,
                }
            ],
            "baseline": {
                "policy": "ts",
                "estimate": 3.8,
                "low": 3.5,
                "high": 4.0,
                "logged": 4.1,
                "decisions": 30,
                "how": "What ts, which does not know the structure, would have earned in the "
                "latest 30 settled decisions (dr, 95 % interval).",
            },
            "health": {
                "verdict": "fits",
                "sentence": "The structure fits the latest 2 subjects.",
                "subjects_checked": 2,
                "doubtful": 0,
                "refuted": 0,
            },
        }
    ],
    "EvaluationRequest": [{"context": {"targetingKey": "visitor-7"}}],
    "EvaluationSuccess": [_FLAG],
    "EvaluationFailure": [_NOT_EVALUATED],
    "BulkEvaluation": [{"flags": [_FLAG]}],
    "StatusAnswer": [{"status": "alive", "version": "0.1.0"}],
}


def _show(schema: dict[str, Any], model: type[BaseModel]) -> None:
    if model.__name__ in EXAMPLES:
        schema["examples"] = EXAMPLES[model.__name__]


class Documented(BaseModel):
    """A body or an answer, whose example is here."""

    model_config = ConfigDict(json_schema_extra=_show)
