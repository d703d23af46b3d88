"""Driver: starting the JVM, the SparkSession and the Python workers."""
