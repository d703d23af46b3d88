"""The operators of the algebra over DataFrames, most of them run by executors."""
