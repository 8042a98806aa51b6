"""How fast acknowledged claims become durable, beside a plain writer on the same server.

    scripts/bench write [--rounds N] [--seconds S] [--verify-events N] [--json FILE]

In each round all variants run in turn, the order rotated, and ratios are taken within a round,
since the machine's speed drifts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from bench.write_variants import OBJECTS, Bench, Variant, claim
from muniment.actions.maintenance import verify
from muniment.domain import commands as cmd
from muniment.embedded.postgres import EmbeddedPostgres


async def rounds(variants: list[Variant], count: int, seconds: float) -> list[dict[str, Any]]:
    """Run all variants in each round, the order rotated; return claims per second by name."""
    told: list[dict[str, Any]] = []
    for number in range(count):
        turn = variants[number % len(variants) :] + variants[: number % len(variants)]
        figures: dict[str, Any] = {}
        for variant in turn:
            start = time.perf_counter()
            done, latencies = await variant.run(seconds)
            rate = done / (time.perf_counter() - start)
            latencies.sort()
            figures[variant.name] = {"per_second": round(rate)} | (
                {
                    "p50_ms": round(latencies[len(latencies) // 2] * 1e3, 2),
                    "p95_ms": round(latencies[int(len(latencies) * 0.95)] * 1e3, 2),
                }
                if latencies
                else {}
            )
        told.append(figures)
    return told


def summary(told: list[dict[str, Any]]) -> dict[str, Any]:
    """Return medians, and ratios to the best plain writer of the same round."""

    def best_plain(figures: dict[str, Any], label: str) -> float:
        prefix = f"plain{label} "
        return max(f["per_second"] for n, f in figures.items() if n.startswith(prefix))

    table: dict[str, Any] = {}
    for name in told[0]:
        rates = [figures[name]["per_second"] for figures in told]
        row: dict[str, Any] = {"median": round(median(rates)), "range": [min(rates), max(rates)]}
        for key in ("p50_ms", "p95_ms"):
            if key in told[0][name]:
                row[key] = median(figures[name][key] for figures in told)
        label = "+docs" if "+docs" in name else ""
        ratios = [figures[name]["per_second"] / best_plain(figures, label) for figures in told]
        row["to_best_plain"] = round(median(ratios), 2)
        row["to_best_plain_range"] = [round(min(ratios), 2), round(max(ratios), 2)]
        if "bulk" in name:
            copied = [f[name]["per_second"] / f["copy into the log"]["per_second"] for f in told]
            row["to_copy"] = round(median(copied), 3)
        table[name] = row
    return table


async def verify_speed(bench: Bench, events: int) -> dict[str, Any]:
    """Fill a log with so many events and time its verification, hashes included."""
    actions, actor, load = await bench.product("verified", documents=False)
    done = OBJECTS
    while done < events:
        calls: list[tuple[cmd.Command, str | None]] = []
        for _ in range(100):
            claims = tuple(claim(o, p, v) for o, p, v, _ in (load.next() for _ in range(50)))
            calls.append((cmd.Remember(claims=claims), None))
        await actions.perform_many(actor, calls)
        done += 5_000
    database = actions.database
    times: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        report = await verify(database, actor.workspace_id, documents=False)
        times.append(time.perf_counter() - start)
        if not report.ok:
            raise SystemExit(f"verify found {report.problems[:3]}")
    taken = median(times)
    return {"events": done, "seconds": round(taken, 2), "per_second": round(done / taken)}


async def main(options: argparse.Namespace) -> None:
    """Run the bench and print its figures."""
    home = Path(tempfile.mkdtemp(prefix="muniment-bench-"))
    home.chmod(0o755)
    postgres = EmbeddedPostgres(home)
    try:
        bench = Bench(postgres.start())
        variants: list[Variant] = []
        for documents in (False, True):
            variants += await bench.plain_variants(documents=documents)
            variants += await bench.product_variants(documents=documents)
        variants.append(await bench.copy_variant())
        told = await rounds(variants, options.rounds, options.seconds)
        result: dict[str, Any] = {
            "rounds": options.rounds,
            "seconds": options.seconds,
            "variants": summary(told),
            "by_round": told,
        }
        if options.verify_events:
            result["verify"] = await verify_speed(bench, options.verify_events)
        await bench.close()
        report(result, options.json)
    finally:
        postgres.stop_if_last()
        shutil.rmtree(home, ignore_errors=True)


def report(result: dict[str, Any], path: str | None) -> None:
    """Print a table, and write the whole as JSON if asked to."""
    for name, row in result["variants"].items():
        latency = f"{row['p50_ms']:>8} {row['p95_ms']:>8}" if "p50_ms" in row else " " * 17
        copied = f"  {row['to_copy']} of COPY" if "to_copy" in row else ""
        low, high = row["to_best_plain_range"]
        ratio = f"x{row['to_best_plain']} [{low}-{high}]"
        print(f"{name:<22} {row['median']:>8}/s {latency}  {ratio}{copied}")
    if "verify" in result:
        print(f"verify {result['verify']}")
    if path:
        Path(path).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--verify-events", type=int, default=500_000)
    parser.add_argument("--json")
    asyncio.run(main(parser.parse_args()))
