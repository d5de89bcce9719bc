"""The tables, as SQLAlchemy Core describes them; migrations create them.

Times are microseconds since 1970 in UTC. A subject has a number, so that the key of a decision is
two numbers, and the public ID of a decision contains its subject without a search.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    String,
    Table,
    Text,
    exists,
    text,
)

metadata = MetaData()

# SQLite numbers rows by itself only in a column that is called INTEGER.
Number = BigInteger().with_variant(Integer, "sqlite")
Double = Float(53)

# States of a decision.
PENDING, REWARDED, DEFAULTED, EXPIRED = 0, 1, 2, 3

experiments = Table(
    "experiments",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("state", String(16), nullable=False),  # running, paused
    Column("policy", Text, nullable=False),
    Column("settings", Text, nullable=False),  # JSON
    Column("seed", String(64), nullable=False),  # secret, hexadecimal
    Column("retired", Text, nullable=False),  # JSON list of arms
    Column("version", Integer, nullable=False),  # the newest structure
    Column("revision", Integer, nullable=False),  # grows with every change of this row
    Column("created", BigInteger, nullable=False),
)

structures = Table(
    "structures",
    metadata,
    Column("experiment", String(64), nullable=False),
    Column("version", Integer, nullable=False),
    Column("digest", String(128), nullable=False),
    Column("content", LargeBinary, nullable=False),  # a structure file
    Column("created", BigInteger, nullable=False),
    PrimaryKeyConstraint("experiment", "version", name="structures_key"),
)

subjects = Table(
    "subjects",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=True),
    Column("experiment", String(64), nullable=False),
    Column("name", String(200), nullable=False),
    Column("version", Integer, nullable=False),  # of the structure, never changes
    Column("state", Text, nullable=False),  # JSON
    Column("created", BigInteger, nullable=False),
    Column("updated", BigInteger, nullable=False),
    Index("subjects_by_name", "experiment", "name", unique=True),
    Index("subjects_by_age", "experiment", "created"),
    sqlite_autoincrement=True,  # a number is never reused: decision IDs contain it
)

decisions = Table(
    "decisions",
    metadata,
    Column("subject", BigInteger, nullable=False),
    Column("round", Integer, nullable=False),
    Column("experiment", String(64), nullable=False),
    Column("version", Integer, nullable=False),
    Column("arm", Integer, nullable=False),  # position in the structure's arms
    Column("probability", Double, nullable=False),
    Column("probabilities", Text, nullable=False),  # JSON, one number per arm
    Column("competitive", Text, nullable=False),  # JSON list of positions
    Column("plausible", Integer, nullable=False),  # how many θ
    # Number of the subject's rewards before this decision: the order of the log, without clocks.
    Column("received", Integer, nullable=False, server_default="0"),
    Column("allowed", Text),  # JSON list of positions, if not all
    Column("key", String(200)),  # Idempotency-Key
    Column("request", String(32)),  # digest of what was asked with the key
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger),
    Column("state", SmallInteger, nullable=False),
    Column("reward", Double),
    Column("reward_order", Integer),  # 1 for the subject's first reward
    Column("rewarded", BigInteger),
    Column("settled", BigInteger),  # place in the export
    Column("late_reward", Double),
    Column("late", BigInteger),
    PrimaryKeyConstraint("subject", "round", name="decisions_key"),
    Index("decisions_by_age", "experiment", "created"),
)
Index(
    "decisions_by_idempotency",
    decisions.c.experiment,
    decisions.c.key,
    unique=True,
    sqlite_where=decisions.c.key.is_not(None),
    postgresql_where=decisions.c.key.is_not(None),
)
Index(
    "decisions_by_deadline",
    decisions.c.expires,
    sqlite_where=text("state = 0 AND expires IS NOT NULL"),
    postgresql_where=text("state = 0 AND expires IS NOT NULL"),
)
Index(
    "decisions_by_settlement",
    decisions.c.experiment,
    decisions.c.settled,
    decisions.c.subject,
    decisions.c.round,
    sqlite_where=decisions.c.settled.is_not(None),
    postgresql_where=decisions.c.settled.is_not(None),
)

# Deleted subjects, until their last row is deleted.
departed = Table(
    "departed",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("experiment", String(64), nullable=False),
    Column("name", String(200), nullable=False),
)
#: Whether the subject of a decision is deleted: then it is neither shown nor counted.
IS_DELETED = exists().where(departed.c.number == decisions.c.subject)

keys = Table(
    "keys",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("hash", String(64), nullable=False),
    Column("scopes", String(64), nullable=False),  # with commas between
    Column("experiment", String(64)),  # none: all of them
    Column("label", String(200), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("revoked", BigInteger),
    Column("public_terms", Text),  # JSON, of a publishable key
    Column("expires", BigInteger),
    Column("per_minute", Integer),  # requests; none: any number
    Column("used", BigInteger),  # last, to about a minute
)

audit = Table(
    "audit",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=True),
    Column("experiment", String(64)),
    Column("subject", BigInteger),
    Column("action", String(32), nullable=False),
    Column("detail", Text, nullable=False),  # JSON
    Column("key", String(32)),
    Column("created", BigInteger, nullable=False),
    Index("audit_by_experiment", "experiment", "number"),
    Index("audit_by_subject", "subject"),
    sqlite_autoincrement=True,  # lines are deleted with their subject; numbers are not reused
)

# SQLite has one writer at a time, so a row can count settlements; PostgreSQL has a sequence.
counters = Table(
    "counters",
    metadata,
    Column("name", String(32), primary_key=True),
    Column("value", BigInteger, nullable=False),
)
