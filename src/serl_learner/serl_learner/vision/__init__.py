"""From camera images to the vector that actor and critics see."""
