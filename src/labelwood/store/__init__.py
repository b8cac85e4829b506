"""Models on disk: JSON and safetensors, no code."""
