"""All measurements, one after another, as one Markdown table with the load beside it."""

from __future__ import annotations

import os

from benchmarks import (
    agreement_speed,
    click_to_next,
    judge_beside,
    judge_engine,
    judge_resume,
    rankings,
    startup,
    vote_throughput,
)


def main() -> None:
    """Print the table."""
    print(f"load average before: {os.getloadavg()}, cores: {os.cpu_count()}\n")
    print("| what | figure | |\n|---|---|---|")
    for module in (
        startup,
        vote_throughput,
        judge_engine,
        judge_resume,
        click_to_next,
        judge_beside,
        rankings,
        agreement_speed,
    ):
        for row in module.main():
            print(row, flush=True)
    print(f"\nload average after: {os.getloadavg()}")


if __name__ == "__main__":
    main()
