"""Adds when a key expires, how often it may be used, and when it was last used."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; keys of earlier versions do not expire and have no limit."""
    op.add_column("keys", sa.Column("expires", sa.BigInteger))
    op.add_column("keys", sa.Column("per_minute", sa.Integer))
    op.add_column("keys", sa.Column("used", sa.BigInteger))
