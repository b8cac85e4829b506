"""A monitor of streams of figures."""

from labelwood.sequences.monitor.calibration import block_size
from labelwood.sequences.monitor.monitor import StreamMonitor
from labelwood.sequences.monitor.record import MonitorRecord, Timeline

__all__ = ["MonitorRecord", "StreamMonitor", "Timeline", "block_size"]
