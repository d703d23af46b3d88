"""What people start: the command line, the server, and pipelines on Spark."""
