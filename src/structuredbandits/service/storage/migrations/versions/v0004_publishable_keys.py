"""Adds the terms of publishable keys, which may be part of a web page."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; keys of earlier versions are not publishable."""
    op.add_column("keys", sa.Column("public_terms", sa.Text))
