"""Files, ids and values on Spark: what executors read, encode, decode and write."""
