"""How results are presented: tables of texts, and pieces of HTML."""
