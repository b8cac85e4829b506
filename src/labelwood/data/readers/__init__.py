"""One module for each file format; all give a `Dataset`.

Text of numbers (`xmc`, `svmlight`) is parsed by `_parse_kernels.parse_lines`, tables by `tabular`.
"""
