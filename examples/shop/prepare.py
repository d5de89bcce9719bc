"""Creates the experiment of the shop and a publishable key, which it writes to settings.js."""

import json
import sys
from pathlib import Path

import structuredbandits as sb
from structuredbandits.service.experiments.experiment_settings import ExperimentSettings
from structuredbandits.service.experiments.stored_experiment import create_experiment, prepare
from structuredbandits.service.security.api_keys import create_key
from structuredbandits.service.security.publishable_keys import PublicTerms
from structuredbandits.service.storage import migrate, open_database

# Three kinds of visitors, and how often each kind buys after each banner.
STRUCTURE = sb.Structure.from_table(
    {
        "delivery": [0.30, 0.10, 0.15],
        "sale": [0.10, 0.30, 0.15],
        "new": [0.05, 0.10, 0.25],
    },
    sb.Finite(["in a hurry", "looks for a bargain", "looks around"]),
    sigma=0.5,
)
PAYLOADS = {
    "delivery": {"text": "Free delivery today", "colour": "#0b5394"},
    "sale": {"text": "10 % off everything", "colour": "#990000"},
    "new": {"text": "New in store", "colour": "#38761d"},
}


def main(service: str = "http://127.0.0.1:8000", page: str = "http://127.0.0.1:8080") -> None:
    settings = ExperimentSettings(
        floor=0.05, payloads=PAYLOADS, reward_deadline_seconds=3600.0, default_reward=0.0
    )
    database = open_database("shop.db")
    migrate(database.url)
    with database.write() as connection:
        version = prepare(1, STRUCTURE, "ts-c", settings)
        create_experiment(connection, "banner", version, settings)
        key, _ = create_key(
            connection, ["decide", "reward"], "banner", "the shop's page", PublicTerms((page,))
        )
    database.close()
    lines = [
        f"export const service = {json.dumps(service)};",
        f"export const key = {json.dumps(key)};",
    ]
    Path("settings.js").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("Created shop.db and settings.js.")


if __name__ == "__main__":
    main(*sys.argv[1:])
