"""``plan``: how many labelled rows a validation needs, from rows like those to be collected."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

from calib.cli import text
from calib.cli.arguments import Inputs, on_data, refuse
from calib.decisions.sample_size import WIDTHS, rows_needed
from calib.formatting import aligned, plural


def _width(target: str, most: float | None = None) -> Any:
    return Option(
        metavar="WIDTH", min=1e-6, max=most, help=f"Wanted width of the 95 % interval of {target}."
    )


@on_data
def plan(
    inputs: Inputs,
    output: text.Output,
    o_e: Annotated[float, _width("O:E")] = WIDTHS["O:E"],
    slope: Annotated[float, _width("slope")] = WIDTHS["slope"],
    auroc: Annotated[float, _width("AUROC", 0.99)] = WIDTHS["AUROC"],
    net_benefit: Annotated[float, _width("net benefit")] = WIDTHS["net benefit"],
    threshold: Annotated[
        float | None,
        Option(
            metavar="T",
            min=0.0,
            max=1.0,
            help="Probability from which on is acted, for the net benefit.",
        ),
    ] = None,
) -> int:
    """Say how many labelled rows O:E, slope, AUROC and net benefit need."""
    widths = {"O:E": o_e, "slope": slope, "AUROC": auroc, "net benefit": net_benefit}
    judged = text.judged_raw(inputs.load())
    predicted, observed = judged.pair
    if threshold is not None and not judged.view.is_event:
        refuse(
            "--threshold is a probability of the event of two classes, and these outputs name no event; leave it out"
        )
    needed = rows_needed(predicted, observed, threshold, widths, judged.clusters)
    rows = [["interval of", "width", "rows", judged.view.wording.positive_label]]
    rows += [[row.target, f"{row.width:g}", f"{row.rows:,}", f"{row.events:,}"] for row in needed]
    lines = [
        f"From {plural(len(judged), 'row')} ({judged.view.wording.observed_label} {judged.means[1]:.1%}):",
        *aligned(rows),
    ]
    output.say("\n".join(lines), rows=len(judged), model=text.means(judged), needed=needed)
    return output.end()
