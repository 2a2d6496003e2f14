"""All that is Streamlit and shared by pages: frame, editor, graph view, tables, errors."""
