"""Charts that the report and the Dagster interface share."""
