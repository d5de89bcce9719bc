"""What alembic runs to change tables, on the connection that `migrate` gives it."""

from alembic import context

from structuredbandits.service.storage.tables import metadata


def run() -> None:
    """Apply the migrations inside the caller's transaction."""
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
    context.run_migrations()


if hasattr(context, "config"):  # not when a tool imports this file to look at it
    run()
