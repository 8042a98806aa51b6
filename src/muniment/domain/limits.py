"""Every bound on input, in one place, so that code, errors, schema and documents agree."""

from __future__ import annotations

from typing import Final

BODY_BYTES: Final = 1024 * 1024
JSON_DEPTH: Final = 64
NAME_BYTES: Final = 512
VALUE_BYTES: Final = 256 * 1024
REASON_BYTES: Final = 2_000
EVIDENCE_BYTES: Final = 2_000
SOURCE_BYTES: Final = 200
KEY_BYTES: Final = 200
QUERY_CHARS: Final = 10_000
CLAIMS_PER_CALL: Final = 100
PARENTS_PER_CLAIM: Final = 32
PROPERTY_CHARS: Final = 64
RESULTS_MAX: Final = 100
INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
INDEXED_CHARS: Final = 64 * 1024
"""Characters of a value that full text indexes. The whole value is stored; a `tsvector` may not
pass 1 MB, and a document whose index is full must still be written."""
