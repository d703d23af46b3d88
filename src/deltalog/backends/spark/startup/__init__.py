"""How the JVM, the SparkSession and the Python workers are started."""
