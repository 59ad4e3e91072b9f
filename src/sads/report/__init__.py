"""One HTML file with everything that is known about some geometries, to read offline."""

from .build import Report, build_report, write_report

__all__ = ["Report", "build_report", "write_report"]
