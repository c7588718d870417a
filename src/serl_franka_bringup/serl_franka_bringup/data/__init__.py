"""What `./serl data` does: one module for each of its actions."""
