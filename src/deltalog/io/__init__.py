"""Readers and writers: files, folders and data frames to columns of ids, and back.

    files       names: which format, which compression; opening, with a bound on what decompression may give
    text        blocks of lines for kernels; errors with the line
    read        files and folders to facts
    ntriples    N-Triples and N-Quads, in parallel
    rdf         Turtle and RDF/XML
    rdfxml      attributes of RDF/XML
    documents   what blank nodes and relative IRIs of RDF files are
    cells       what a cell of a table means
    tables      CSV and TSV
    frames      rows, Arrow, pandas, polars, Spark; Parquet
    write       facts to a folder
    triples     facts as N-Triples
    forms       many values as text
    facts       what readers give and writers take

Readers intern values in a dictionary of their own and merge it into the caller's at the end, so that a bad file leaves
nothing behind.
"""
