"""What the tests of scripts share."""
