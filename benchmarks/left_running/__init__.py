"""The parts of the soak, of which some are processes of their own, so that this loads none of them."""
