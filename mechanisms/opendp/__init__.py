"""A bridge to OpenDP: its measurements as mechanisms here, and mechanisms of ours as its own.

Needs the extra `opendp`, which is imported where it is used (docs/opendp.md).

- `distances`: which of its measures and metrics are ours; its floats as exact losses, and back.
- `records`: what a measurement reads: the values of records, in its input domain.
- `invoking`: runs a measurement on private data, and takes only plain answers.
- `measurement`: `OpenDPMeasurement`, a measurement of OpenDP as a mechanism.
- `exporting`: `to_opendp`, a mechanism as a measurement of OpenDP.
"""

from mechanisms.opendp.exporting import to_opendp
from mechanisms.opendp.measurement import OpenDPMeasurement

__all__ = ["OpenDPMeasurement", "to_opendp"]
