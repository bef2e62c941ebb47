"""Passes that build kernels in task verbs and lower them to what one thread does."""
