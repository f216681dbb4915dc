"""A file read by Python's own reader of JSON: the floor of whoever reads it at all."""

import json
import sys
from pathlib import Path

with Path(sys.argv[1]).open(encoding="utf-8") as file:
    json.load(file)
