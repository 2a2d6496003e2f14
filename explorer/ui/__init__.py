"""Everything that uses Streamlit: a folder for each page, `widgets` that pages share, and `server`,
what the app's process does for all readers.
"""
