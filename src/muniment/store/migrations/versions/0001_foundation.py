"""The log, its projections, and what each database role may do with them."""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Run the SQL file beside this one."""
    raw = op.get_bind().connection.driver_connection
    assert raw is not None
    raw.execute(Path(__file__).with_suffix(".sql").read_bytes())
