"""Models on disk: JSON and safetensors, no code.

`models` saves and loads. `directory` reads and replaces the files, and checks the format version
and the hash of the arrays; then `codec.decode_checked` checks what a model file holds before it
becomes an estimator, with the estimator's own `_check_fitted`.
"""
