"""Decomposes operators that ONNX defines as functions."""

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import onnx
from onnx import defs, helper

from hidet.frontends.onnx.values import DTYPES, Known


def function_of(
    node: onnx.NodeProto, values: Sequence[Any], opset: int
) -> onnx.FunctionProto | None:
    """Return the nodes of the function body of a node, None if ONNX does not define one."""
    try:
        schema: Any = defs.get_schema(node.op_type, opset, node.domain)
    except defs.SchemaError:
        return None
    data = b""
    if schema.has_context_dependent_function:
        types = [_type_of(value).SerializeToString() for value in values]
        version = max(schema.context_dependent_function_opset_versions)
        data = schema.get_context_dependent_function_with_opset_version(
            version, node.SerializeToString(), types
        )
    elif schema.has_function:
        data = schema.get_function_with_opset_version(max(schema.function_opset_versions))
    if not data:
        return None
    body = onnx.FunctionProto.FromString(data)
    if not body.opset_import:
        body.opset_import.append(helper.make_opsetid(node.domain, opset))
    return body


def _type_of(value: Any) -> onnx.TypeProto:
    """Return the type of a value."""
    if value is None:
        return onnx.TypeProto()
    tensor = value.tensor if isinstance(value, Known) else value
    number = next(number for number, dtype in DTYPES.items() if dtype == tensor.dtype)
    return helper.make_tensor_type_proto(number, list(tensor.shape))


def with_attributes(body: onnx.FunctionProto, node: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
    """Return the nodes of a function, instantiated for a node that calls it."""
    given = {attribute.name: attribute for attribute in body.attribute_proto}
    given |= {attribute.name: attribute for attribute in node.attribute}
    if defs.has(node.op_type, node.domain):
        schema = defs.get_schema(node.op_type, node.domain)
        defaults = {name: a.default_value for name, a in schema.attributes.items()}
        given = {name: a for name, a in defaults.items() if a.name} | given
    for inner in copy.deepcopy(body).node:
        _fill(inner, given)
        yield inner


def _fill(node: onnx.NodeProto, given: dict[str, onnx.AttributeProto]) -> None:
    """Resolve references to attributes in a node, also in its subgraphs."""
    for attribute in list(node.attribute):
        name, reference = attribute.name, attribute.ref_attr_name
        if reference in given:
            attribute.CopyFrom(given[reference])
            attribute.name = name
        elif reference:
            node.attribute.remove(attribute)
        for inner in attribute.g.node if not reference else ():
            _fill(inner, given)
