"""The Markov classifier: products of face tables, climbed and averaged."""
