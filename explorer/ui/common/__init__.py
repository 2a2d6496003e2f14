"""What several pages share: frame, editor, graph, tables, the glossary, the call of the sandbox."""
