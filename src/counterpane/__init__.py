"""Learn discrete graphical models from any table, then ask them questions."""

__version__ = "0.1.0.dev0"
