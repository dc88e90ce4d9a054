"""Messages of errors; finsy has them."""

import sys

from finsy.proto import rpc_status

sys.modules[__name__] = rpc_status
