"""`deltalog serve`: a knowledge base over HTTP. docs/server.md describes what it answers.

    settings        what the operator has said: limits, tokens, origins
    versions        the knowledge base, its one writer, and the versions that readers see
    readers         knowledge bases for requests that read, one for each at a time
    subscriptions   what each change adds to and removes from the answers of a goal
    fields          parameters and bodies: one declaration that reads, checks and describes them
    endpoints       what a path is: fields, a handler, and whether it reads or writes
    app             from a request to a handler in a thread, and back
    security        who may ask, and headers
    metrics         figures for Prometheus

Handlers are in modules by topic: `queries`, `rules`, `changes`, `explanations`, `editor`, `sparql`, `graph_store`,
`operations`.
"""
