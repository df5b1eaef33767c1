"""Rankings of the items that a row is likely to have next."""
