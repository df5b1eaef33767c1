"""What comes next: items ranked by their conditional probabilities."""
