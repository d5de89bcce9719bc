"""Adds the table of deleted subjects whose rows are still to be deleted in batches."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table; earlier versions deleted a subject in one transaction."""
    op.create_table(
        "departed",
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("experiment", sa.String(64), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
    )
