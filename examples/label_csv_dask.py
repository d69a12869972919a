"""
As ``label_csv.py``, on the workers of a Dask cluster; here, on two processes of this machine.

Each worker needs the CLI, and an account. Needs ``pip install 'dask[distributed]'``.

    python examples/label_csv_dask.py            asks Claude
    python examples/label_csv_dask.py --offline  asks the built-in stand-in, which makes it up
"""

import dataclasses
import sys
from typing import Literal

import claude_sync
from claude_sync.testing import StandIn

REVIEWS = ["I love this kettle", "The lamp broke after a day"]


@dataclasses.dataclass
class Label:
    """What somebody thinks of a product."""

    mood: Literal["good", "bad", "mixed"]
    product: str


def main():
    """Label the reviews."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        print("this example needs Dask: pip install 'dask[distributed]'")
        return
    # Or Client("tcp://scheduler:8786"), for a cluster that is there already.
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        batch = claude_sync.map(
            [f"Label this review: {review}" for review in REVIEWS],
            executor=client.get_executor(),
            workers=2,
            returns=Label,
            cli=StandIn().command if "--offline" in sys.argv else None,
        )
        for item in batch:
            shown = item.error or f"{item.data.mood}, {item.data.product}"
            print(f"{REVIEWS[item.index]}: {shown}")


if __name__ == "__main__":
    main()
