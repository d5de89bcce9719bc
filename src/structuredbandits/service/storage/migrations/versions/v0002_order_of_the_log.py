"""How many rewards had come when a decision was made; and numbers of the audit, given once."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Count what came before; for decisions that are there already, by the clock."""
    op.add_column(
        "decisions", sa.Column("received", sa.Integer, nullable=False, server_default="0")
    )
    op.execute(
        "UPDATE decisions SET received = (SELECT count(*) FROM decisions AS earlier "
        "WHERE earlier.subject = decisions.subject AND earlier.reward_order IS NOT NULL "
        "AND earlier.rewarded <= decisions.created)"
    )
    if op.get_bind().dialect.name == "sqlite":
        _number_the_audit_once()


def _number_the_audit_once() -> None:
    # SQLite gives the number of a deleted last row again unless the table says otherwise, and
    # lines of the audit are deleted with their subject.
    options = {"sqlite_autoincrement": True}
    with op.batch_alter_table("audit", recreate="always", table_kwargs=options):
        pass
