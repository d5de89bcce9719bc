"""Whose rows are still to be deleted: a subject leaves at once, her rows in portions."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table; so far everybody was deleted in one transaction."""
    op.create_table(
        "departed",
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("experiment", sa.String(64), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
    )
