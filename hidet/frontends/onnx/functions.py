"""Decomposes operators that ONNX defines as functions."""

from collections.abc import Iterator, Sequence
from typing import Any

import onnx
from onnx import defs, helper

from hidet.frontends.onnx.values import DTYPES, Known


def function_of(
    node: onnx.NodeProto, values: Sequence[Any], opset: int
) -> onnx.FunctionProto | None:
    """Return the nodes of the function body of a node, None if ONNX does not define one."""
    if not defs.has(node.op_type, node.domain):
        return None
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
    for inner in body.node:
        yield _filled(inner, given)


def _filled(inner: onnx.NodeProto, given: dict[str, onnx.AttributeProto]) -> onnx.NodeProto:
    """Return a node with references to attributes resolved, also in its subgraphs."""
    result = onnx.NodeProto()
    result.CopyFrom(inner)
    del result.attribute[:]
    for attribute in inner.attribute:
        copy = onnx.AttributeProto()
        if attribute.ref_attr_name:
            if attribute.ref_attr_name not in given:
                continue
            copy.CopyFrom(given[attribute.ref_attr_name])
            copy.name = attribute.name
        else:
            copy.CopyFrom(attribute)
            for place, each in enumerate(attribute.g.node):
                copy.g.node[place].CopyFrom(_filled(each, given))
        result.attribute.append(copy)
    return result
