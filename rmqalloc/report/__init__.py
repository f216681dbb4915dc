"""Results handed to programs and shown to people: any table in every form, plans as one page of
HTML, findings as SARIF.

Nothing is computed here. `write_table` writes any table, `report` a plan as one page,
`write_findings` an audit.
"""

from typing import TYPE_CHECKING

from rmqalloc.lazy import import_ahead, imported_on_use

if TYPE_CHECKING:
    from rmqalloc.report.formats import OUTPUTS, write_table
    from rmqalloc.report.html import report
    from rmqalloc.report.sarif_log import sarif, write_findings

__all__ = ["OUTPUTS", "report", "sarif", "write_findings", "write_table"]

_NAMES = {
    "formats": ("OUTPUTS", "write_table"),
    "html": ("report",),
    "sarif_log": ("sarif", "write_findings"),
}
__getattr__ = imported_on_use(__name__, _NAMES)
import_ahead(*(f"{__name__}.{module}" for module in _NAMES))
