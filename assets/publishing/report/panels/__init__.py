"""One panel of the report per module; see `assets.publishing.report.panel`."""
