"""The operators of the algebra. Each module says in its first line where its code runs."""
