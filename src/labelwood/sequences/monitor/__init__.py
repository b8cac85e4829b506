"""A monitor of streams of figures."""

from labelwood.sequences.monitor.monitor import MonitorRecord, StreamMonitor, Timeline

__all__ = ["MonitorRecord", "StreamMonitor", "Timeline"]
