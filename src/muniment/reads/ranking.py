"""How hits are ordered: every number of it, and which lexemes drive the relaxed route.

The lists are fused by a weighted sum, each divided by its best score (which did better in our
measurements than reciprocal ranks); then a hit weighs a little more when what it says was better
obtained. Weights that are tuned to one collection cost on another, so these are round.

How common a lexeme is, is counted at each search over what the reader may see, up to a bound: a
statistic over all rows would tell of hidden ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

from muniment.domain.evidence import CONFIDENCE, EvidenceClass
from muniment.domain.tokens import Term, quote
from muniment.store.read.recall import Scoring

BUDGET: Final = 1_000
"""Documents that each text route may bring in, the newest first when there are more."""
BOUND: Final = BUDGET + 1
CORPUS: Final = 100_000
"""What the inverse document frequency takes for the number of documents: the true one would cost
a count, and only the ratio between lexemes matters."""
LENGTH: Final = 20.0
"""Positions of an average document, for BM25's length term (k1 1.2, b 0.75)."""
LEXEMES: Final = 48
PART_SHARE: Final = 0.35
"""What a part of a code-like token counts for: `needle7` is about more than `7`."""
TEXT_WEIGHT: Final = 0.5
STRICT_WEIGHT: Final = 0.5
NAME_WEIGHT: Final = 0.6
STOP_SHARE: Final = 0.1
STOP_WORDS: Final = frozenset(
    re.findall(
        r"\w+",
        """
        a about after all also an and any are as at be because been before but by can could did do
        does for from had has have he her his how i if in into is it its just may more most my no
        not of on only or our out over she should so some such than that the their them then there
        these they this to under up was we were what when where which who why will with would you
        your
        """,
    )
)
"""Words of English that say little: they bring in no document of their own on the relaxed route.
They still take part in the strict route and in phrases."""
BY_ID: Final = 4
HOW: Final = {BY_ID: ("id", 1.6), 3: ("name", 1.0), 2: ("prefix", 0.6), 1: ("trigram", 0.6)}
"""For each way in which a query names an object: the route's name and its share of the weight."""
FUZZY_CHARS: Final = 30
"""Trigram on a whole sentence is the dearest route and finds nothing; short queries take it."""
LIKENESS: Final = 0.4
"""Below this a name only resembles the query, and is no more than a `did_you_mean`."""


def weight(confidence: float) -> float:
    """Return the factor that a claim's confidence is worth: 0.87 to 0.98."""
    return 0.8 + 0.2 * confidence


SCORING: Final = Scoring(
    budget=BUDGET,
    classes=[c.value for c in EvidenceClass],
    class_weights=[weight(CONFIDENCE[c]) for c in EvidenceClass],
    object_weight=weight(1.0),
    length=LENGTH,
    routes=(TEXT_WEIGHT, STRICT_WEIGHT, NAME_WEIGHT),
)


def lexeme_shares(terms: Sequence[Term]) -> dict[str, float]:
    """Return the tsqueries of the terms' lexemes, the most telling of each term first, with how
    much of a lexeme's weight each one counts for."""
    made: dict[str, float] = {}
    for rank in range(max((len(term.lexemes) for term in terms), default=0)):
        for term in terms:
            if rank >= len(term.lexemes):
                continue
            lexeme = term.lexemes[rank]
            part = term.text in term.lexemes and lexeme != term.text
            query = quote(lexeme) + (":*" if term.prefix else "")
            share = PART_SHARE if part else STOP_SHARE if lexeme in STOP_WORDS else 1.0
            made[query] = max(made.get(query, 0.0), share)
    return dict(list(made.items())[:LEXEMES])


def lexeme_weights(shares: Sequence[float], counts: Sequence[int]) -> list[float]:
    """Return the weight (inverse document frequency) of lexemes that occur in so many documents."""
    return [
        share * math.log(1 + CORPUS / (count + 0.5))
        for share, count in zip(shares, counts, strict=True)
    ]


def strict_query(terms: Sequence[Term]) -> str:
    """Return the tsquery that all terms satisfy together."""
    return " & ".join(f"({term.query})" for term in terms)


def counted(shares: Sequence[float]) -> list[int]:
    """Return the places of lexemes that are worth a count: not those that are in every text."""
    return [place for place, share in enumerate(shares) if share != STOP_SHARE]


def relaxed_query(
    lexemes: Sequence[str], shares: Sequence[float], counts: Sequence[int]
) -> str | None:
    """Return the tsquery of the rarest lexemes whose documents fit the budget.

    When even the rarest has more, it stands alone and brings in its newest. Stop words take part
    in a query of nothing else. None: no lexeme occurs.
    """
    worth = counted(shares) or range(len(lexemes))
    present = sorted((counts[place], lexemes[place]) for place in worth if counts[place])
    chosen: list[str] = []
    total = 0
    for count, lexeme in present:
        total += count
        if chosen and total > BUDGET:
            break
        chosen.append(lexeme)
    return " | ".join(chosen) or None
