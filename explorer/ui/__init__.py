"""Everything that uses Streamlit: a folder for each page, and `common` for what pages share."""
