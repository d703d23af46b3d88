"""The data model that all other packages share: values, facts, changes, limits, thresholds and errors."""
