"""Networks as graphs: layers with their shapes, the steps of an iteration, and the memory that these need.

`tensor` says what a tensor is, `kind` what a kind of layer answers. One file for each family of kinds: `convolution`,
`fully_connected`, `pooling`, `normalization`, `pointwise`, `joins`, with `weighted` for layers with weights and
`windows` for what moves over rows and columns; `kinds` is their table. `dnnmark`, `gemm_list`, `onnx_file` and
`torch_module` read what others wrote into a description (`described`); `graph` makes a checked network of it. ONNX
operators are read by the kinds that they are; `onnx_nodes` adds those that become several kinds (`onnx_products`,
`onnx_arithmetic`, `onnx_moves`), `onnx_recurrent` and `onnx_patterns` the rest. `schedule` lists the steps of inference
and of training, `binding` makes primitives of a step, `memory` says what lives when and where it lies, `figures` counts
work and bytes by layer. Nothing here knows how long a step takes.

Why so: a layer's kind is one class with shapes, passes, file and ONNX names, where three packages defined it before.
"""
