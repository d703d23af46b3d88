"""Tables, trees, graphs and bars, as text for terminals, HTML and SVG.

Callers make the model (rows, boxes, edges, figures); what it looks like is decided here. Text has `text_width`,
`text_table` and `text_tree`; HTML `html`; SVG `svg` (the writer and the style), `boxes`, `layers` (directed graphs),
`trees` and `bars`.
"""
