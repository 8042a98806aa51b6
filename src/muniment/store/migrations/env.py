"""Alembic's entry: run on the connection that holds the lock of `store.migrate`."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"], transaction_per_migration=True
)
with context.begin_transaction():
    context.run_migrations()
