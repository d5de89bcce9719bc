"""The first tables: experiments, structures, subjects, decisions, keys and the audit."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_DOUBLE = sa.Float(53)


def upgrade() -> None:
    """Make them."""
    _knowledge()
    _subjects()
    _decisions()
    _administration()
    if op.get_bind().dialect.name == "postgresql":
        op.execute("CREATE SEQUENCE settlements")


def _knowledge() -> None:
    op.create_table(
        "experiments",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("policy", sa.Text, nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("seed", sa.String(64), nullable=False),
        sa.Column("retired", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "structures",
        sa.Column("experiment", sa.String(64), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("digest", sa.String(128), nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("experiment", "version", name="structures_key"),
    )


def _subjects() -> None:
    op.create_table(
        "subjects",
        sa.Column("number", _NUMBER, primary_key=True, autoincrement=True),
        sa.Column("experiment", sa.String(64), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("updated", sa.BigInteger, nullable=False),
        # A deleted subject's number must never be given again: decisions' ids contain it.
        sqlite_autoincrement=True,
    )
    op.create_index("subjects_by_name", "subjects", ["experiment", "name"], unique=True)
    op.create_index("subjects_by_age", "subjects", ["experiment", "created"])


def _decisions() -> None:
    op.create_table(
        "decisions",
        sa.Column("subject", sa.BigInteger, nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("experiment", sa.String(64), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("arm", sa.Integer, nullable=False),
        sa.Column("probability", _DOUBLE, nullable=False),
        sa.Column("probabilities", sa.Text, nullable=False),
        sa.Column("competitive", sa.Text, nullable=False),
        sa.Column("plausible", sa.Integer, nullable=False),
        sa.Column("allowed", sa.Text),
        sa.Column("key", sa.String(200)),
        sa.Column("request", sa.String(32)),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("expires", sa.BigInteger),
        sa.Column("state", sa.SmallInteger, nullable=False),
        sa.Column("reward", _DOUBLE),
        sa.Column("reward_order", sa.Integer),
        sa.Column("rewarded", sa.BigInteger),
        sa.Column("settled", sa.BigInteger),
        sa.Column("late_reward", _DOUBLE),
        sa.Column("late", sa.BigInteger),
        sa.PrimaryKeyConstraint("subject", "round", name="decisions_key"),
    )
    op.create_index("decisions_by_age", "decisions", ["experiment", "created"])
    _partial("decisions_by_idempotency", ["experiment", "key"], "key IS NOT NULL", unique=True)
    _partial("decisions_by_deadline", ["expires"], "state = 0 AND expires IS NOT NULL")
    _partial(
        "decisions_by_settlement",
        ["experiment", "settled", "subject", "round"],
        "settled IS NOT NULL",
    )


def _partial(name: str, columns: list[str], condition: str, unique: bool = False) -> None:
    where = sa.text(condition)
    op.create_index(
        name, "decisions", columns, unique=unique, sqlite_where=where, postgresql_where=where
    )


def _administration() -> None:
    op.create_table(
        "keys",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("scopes", sa.String(64), nullable=False),
        sa.Column("experiment", sa.String(64)),
        sa.Column("label", sa.String(200), nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("revoked", sa.BigInteger),
    )
    op.create_table(
        "audit",
        sa.Column("number", _NUMBER, primary_key=True, autoincrement=True),
        sa.Column("experiment", sa.String(64)),
        sa.Column("subject", sa.BigInteger),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("key", sa.String(32)),
        sa.Column("created", sa.BigInteger, nullable=False),
    )
    op.create_index("audit_by_experiment", "audit", ["experiment", "number"])
    op.create_index("audit_by_subject", "audit", ["subject"])
    op.create_table(
        "counters",
        sa.Column("name", sa.String(32), primary_key=True),
        sa.Column("value", sa.BigInteger, nullable=False),
    )
