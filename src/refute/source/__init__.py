"""Python text: parsed, of newer versions too, literals read with care, imports that it lacks."""
