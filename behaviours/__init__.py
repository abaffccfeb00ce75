"""What a hero wants: one module per trait. Look at a view, answer with votes."""
