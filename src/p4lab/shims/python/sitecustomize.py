"""What p4-utils expects of Mininet and its release on PyPI lacks: a level and a function for
warnings, and a name for the handler that prints."""

from mininet import log

log.LEVELS.setdefault("warn", log.LEVELS["warning"])
if not hasattr(log, "warning"):
    log.warning = log.warn
if not hasattr(log.lg, "ch"):
    log.lg.ch = log.lg.handlers[0]
