"""Values, facts, changes, limits and errors: what every other part speaks of."""
