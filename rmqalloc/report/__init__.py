"""Results handed to programs and shown to people: any table in every form, plans as one page of HTML, findings as SARIF.

Nothing is computed here. `write_table` writes any table, `report` a plan as one page, `write_findings` an audit.
"""

from rmqalloc.report._formats import OUTPUTS, write_table
from rmqalloc.report._sarif import sarif, write_findings
from rmqalloc.report.html import report

__all__ = ["OUTPUTS", "report", "sarif", "write_findings", "write_table"]
