"""Driver: settings from outside of the program, and the SparkSession."""
