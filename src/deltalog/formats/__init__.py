"""Readers and writers: files, folders and data frames to columns of ids, and back.

    formats     the formats of input and output
    files       format and compression by file name; opening files, with a limit on decompressed data
    text        blocks of lines for kernels; errors with the line
    read        files and folders to facts
    table_files predicates of tables by the places of their files; folders that Spark wrote
    table_head  the first rows of tables: headers
    table_reader  tables with options
    table_settings  `.deltalog.toml`
    table_survey  a look at files before they are read: names of columns, warnings
    typed_cells texts to values of declared types
    ntriples    N-Triples and N-Quads, in parallel
    rdf         Turtle, TriG, RDF/XML and JSON-LD
    rdfxml      attributes of RDF/XML
    entities    entities of XML
    documents   blank nodes and relative IRIs of RDF files
    csv_cells   values as cells of tables
    tables      CSV and TSV
    jsonl       JSON lines
    json_values values as JSON
    frames      rows, Arrow, pandas, polars, Spark; Parquet
    write       facts to a folder
    triples     facts as N-Triples
    turtle      facts as Turtle and TriG
    value_text  values as text, in bulk
    columns     facts as columns of ids, between readers and writers

Readers intern values in a dictionary of their own and merge it into the caller's at the end, so a file with errors adds
no values.
"""
