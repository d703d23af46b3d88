"""RDFox's language, which programs can be written in."""
