"""Files, ids and values on Spark. Each module says in its first line where its code runs."""
