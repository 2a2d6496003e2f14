"""What a reader sees and uses on several pages: frame, editor, inputs, drags, links, glossary."""
