"""IR construction and rewriting utilities, shared by the script frontend, templates and passes."""
