"""Counts the rewards before each decision of an older log, in batches: work of migration 0002."""

from __future__ import annotations

import sqlalchemy as sa

# Decisions per transaction, and at least one subject.
ROWS_AT_ONCE = 20_000
#: Names of the counters that store the progress.
PROGRESS = "migration 0002 "
_SUBJECT, _DONE, _TOTAL = (PROGRESS + what for what in ("subject", "done", "total"))
# Of each subject, rewards and decisions in the order of their times: one pass adds up rewards so
# far. A reward at the moment of a decision counts as earlier.
_COUNT = sa.text(
    "UPDATE decisions SET received = counted.rewards FROM ("
    "  SELECT subject, round, is_reward, sum(is_reward) OVER ("
    "    PARTITION BY subject ORDER BY moment, is_reward DESC) AS rewards FROM ("
    "      SELECT subject, round, 0 AS is_reward, created AS moment FROM decisions"
    "      WHERE subject > :after AND subject <= :last"
    "      UNION ALL"
    "      SELECT subject, round, 1, rewarded FROM decisions"
    "      WHERE subject > :after AND subject <= :last"
    "      AND reward_order IS NOT NULL AND rewarded IS NOT NULL) AS events) AS counted "
    "WHERE counted.is_reward = 0 AND counted.rewards > 0 "
    "AND decisions.subject = counted.subject AND decisions.round = counted.round"
)


def work(connection: sa.Connection) -> str | None:
    """Do the next batch; return what was done so far, or None if nothing is left.

    The place is stored with each batch, so an interrupted migration continues with the next one.
    """
    names = {column["name"] for column in sa.inspect(connection).get_columns("decisions")}
    if "received" not in names:
        connection.execute(
            sa.text("ALTER TABLE decisions ADD COLUMN received INTEGER DEFAULT '0' NOT NULL")
        )
        total = connection.execute(sa.text("SELECT count(*) FROM decisions")).scalar_one()
        for name, value in ((_SUBJECT, 0), (_DONE, 0), (_TOTAL, total)):
            added = sa.text("INSERT INTO counters (name, value) VALUES (:name, :value)")
            connection.execute(added, {"name": name, "value": value})
    rows = connection.execute(sa.text("SELECT name, value FROM counters"))
    stored: dict[str, int] = {row.name: row.value for row in rows}
    if _SUBJECT not in stored:  # all is done, and only the version was not stored
        return None
    after = stored[_SUBJECT]
    last, count = _batch(connection, after)
    if last is None:
        return None
    connection.execute(_COUNT, {"after": after, "last": last})
    done = stored[_DONE] + count
    for name, value in ((_SUBJECT, last), (_DONE, done)):
        changed = sa.text("UPDATE counters SET value = :value WHERE name = :name")
        connection.execute(changed, {"name": name, "value": value})
    return f"{done:,} of {stored[_TOTAL]:,} decisions"


def _batch(connection: sa.Connection, after: int) -> tuple[int | None, int]:
    """Return the last subject of the next batch, and the number of its decisions."""
    given = {"after": after, "rows": ROWS_AT_ONCE - 1}
    later = "SELECT subject FROM decisions WHERE subject > :after ORDER BY subject"
    last = connection.execute(sa.text(f"{later} LIMIT 1 OFFSET :rows"), given).scalar()
    if last is None:
        highest = sa.text("SELECT max(subject) FROM decisions WHERE subject > :after")
        last = connection.execute(highest, given).scalar()
    if last is None:
        return None, 0
    counted = sa.text("SELECT count(*) FROM decisions WHERE subject > :after AND subject <= :last")
    return int(last), int(connection.execute(counted, {**given, "last": last}).scalar_one())
