"""Tables that hold data already are brought to the newest version, and nothing is lost."""

from __future__ import annotations

from alembic import command
from sqlalchemy import text

from structuredbandits.service.storage import migrate, open_database, schema_version
from structuredbandits.service.storage.migrate import _alone, _config, newest_version
from tests.service.conftest import Api

_DECISIONS = """\
INSERT INTO decisions (subject, round, experiment, version, arm, probability, probabilities,
    competitive, plausible, created, state, reward, reward_order, rewarded)
VALUES (:subject, :round, 'shop', 1, 0, 1.0, '[1.0]', '[0]', 5, :created, 1, 2.0, :round, :rewarded)
"""


def test_decisions_of_the_first_tables_learn_how_many_rewards_came_before(
    database_url: str,
) -> None:
    database = open_database(database_url)
    with _alone(database.url) as connection:
        command.upgrade(_config(connection), "0001")
    rows = [
        {"subject": subject, "round": number, "created": 10 * number, "rewarded": 10 * number + gap}
        for subject, gap in ((1, 5), (2, 15))
        for number in (1, 2, 3)
    ]
    with database.write() as connection:
        assert schema_version(connection) == "0001"
        connection.execute(text(_DECISIONS), rows)
        connection.execute(
            text("INSERT INTO audit (number, action, detail, created) VALUES (7, 'x', '{}', 1)")
        )
    assert migrate(database.url) == newest_version() > "0001"
    with database.write() as connection:
        found = connection.execute(
            text("SELECT received FROM decisions ORDER BY subject, round")
        ).scalars()
        assert list(found) == [0, 1, 2, 0, 0, 1]
        assert connection.execute(text("SELECT number FROM audit")).scalars().all() == [7]
    database.close()


def test_no_line_of_the_audit_gets_the_number_of_a_deleted_one(api: Api) -> None:
    api.create()
    decision = api.decide()
    api.reward(decision, 1.0)
    path = f"/v1/decisions/{decision['id']}/corrections"
    api.client.post(path, json={"reward": 2.0, "reason": "typed wrongly"})

    def last() -> int:
        with api.service.database.read() as connection:
            return int(connection.execute(text("SELECT max(number) FROM audit")).scalar_one())

    before = last()
    assert api.client.delete("/v1/experiments/shop/subjects/ana").status_code == 204
    assert last() > before
