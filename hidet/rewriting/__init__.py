"""Building and changing IR: what the script frontend, the templates and the passes share."""
