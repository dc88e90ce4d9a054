"""Codes of errors; finsy has them."""

import sys

from finsy.proto import rpc_code

sys.modules[__name__] = rpc_code
