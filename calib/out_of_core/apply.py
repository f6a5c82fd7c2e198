"""A calibrator applied to a file of any size, in constant memory."""

from __future__ import annotations

from pathlib import Path

from calib.errors import CalibrationError
from calib.export.runtime import ExportedCalibrator
from calib.numerics import Floats
from calib.out_of_core.outputs import LogitRows
from calib.out_of_core.parallel import in_order
from calib.out_of_core.progress import Progress, no_progress
from calib.out_of_core.rows import Block, Rows
from calib.out_of_core.writing import ENDINGS, probabilities_file


def apply_streaming(
    exported: ExportedCalibrator,
    outputs: Rows,
    out: Path,
    *,
    dtype: str = "float64",
    progress: Progress = no_progress,
) -> int:
    """Write the calibrated probabilities of stored outputs; returns how many rows.

    Reading, predicting on several threads and writing go on side by side. The numbers are those that
    ``exported.calibrate`` gives for all rows at once, to the last bit unless ``dtype`` rounds them: both cut the rows
    at the same places.

    Parameters
    ----------
    outputs : as the model wrote them, from :func:`~calib.out_of_core.reading.open_rows`.
    out : .npy or .parquet; it appears when it is complete, and not at all if anything fails.
    dtype : what is written, one of :data:`~calib.out_of_core.writing.DTYPES`.

    Raises
    ------
    CalibrationError
        For outputs the calibrator does not know, values that cannot be (with their row number), or a full disk.
    """
    if out.suffix.lower() not in ENDINGS:
        raise CalibrationError(f"{out.name}: block by block only {' and '.join(ENDINGS)} can be written.")
    logits = LogitRows(outputs, exported.kind, exported.floor)
    if logits.shape[1] != exported.n_classes:
        raise CalibrationError(
            f"The outputs have {logits.shape[1]} columns; {exported.n_classes} classes were calibrated."
        )
    calibrator, n = exported.calibrator, len(outputs)

    def calibrated(block: Block) -> Floats:
        # Rounded here, on its thread, so that the one that writes does nothing else.
        return calibrator.predict_proba(logits.checked(*block)).astype(dtype, copy=False)

    with probabilities_file(out, n, exported.class_names, dtype) as write:
        done = 0
        for probs in in_order(calibrated, outputs.blocks()):
            write(probs)
            done += len(probs)
            progress("calibrated", done, n)
    return n
