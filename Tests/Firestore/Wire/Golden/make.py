#!/usr/bin/env python3
"""Writes messages.txt: what the messages of Google's own client look like on the wire.

Needs pip's google-cloud-firestore. For each message there is one sample with every field, or
several where fields exclude each other: its name, its bytes and its text.
"""

from google.cloud.firestore_v1 import types
from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor as Field
from google.protobuf.message_factory import GetMessageClass
from google.rpc import status_pb2
from google.type import latlng_pb2

# What Larder has no use for.
LEFT_OUT = {
    "request_options", "field_reference_value", "variable_reference_value", "function_value",
    "pipeline_value",
}
LEFT_OUT_MESSAGES = {
    "ExecutePipelineRequest", "ExecutePipelineResponse", "ExplainStats", "Function", "Pipeline",
    "RequestOptions", "StructuredPipeline",
}


def scalar(field):
    number = 100 + field.number
    if field.type == Field.TYPE_STRING:
        return f"s{number}"
    if field.type == Field.TYPE_BYTES:
        return f"b{number}".encode()
    if field.type == Field.TYPE_BOOL:
        return True
    if field.type == Field.TYPE_DOUBLE:
        return number + 0.5
    if field.type == Field.TYPE_ENUM:
        return field.enum_type.values[-1].number
    return number


def fill(message, chosen, depth):
    """Sets the fields of a message, of each oneof the one that was chosen, else the first."""
    for field in message.DESCRIPTOR.fields:
        if field.name in LEFT_OUT:
            continue
        oneof = field.containing_oneof
        if oneof and (chosen if chosen in oneof.fields else oneof.fields[0]) is not field:
            continue
        if field.message_type is None:
            if field.is_repeated:
                getattr(message, field.name).extend([scalar(field)])
            else:
                setattr(message, field.name, scalar(field))
        elif field.message_type.GetOptions().map_entry:
            entry = field.message_type.fields_by_name["value"]
            if entry.message_type:
                getattr(message, field.name)["key"].SetInParent()
                if depth:
                    fill(getattr(message, field.name)["key"], None, depth - 1)
            else:
                getattr(message, field.name)["key"] = scalar(entry)
        elif field.is_repeated:
            part = getattr(message, field.name).add()
            if depth:
                fill(part, None, depth - 1)
        else:
            part = getattr(message, field.name)
            part.SetInParent()
            if depth:
                fill(part, None, depth - 1)


def messages(descriptor):
    if descriptor.GetOptions().map_entry or descriptor.name in LEFT_OUT_MESSAGES:
        return
    yield descriptor
    for nested in descriptor.nested_types:
        yield from messages(nested)


def samples(descriptor):
    members = [f for o in descriptor.oneofs for f in o.fields if f.name not in LEFT_OUT]
    for chosen in members or [None]:
        message = GetMessageClass(descriptor)()
        fill(message, chosen, 1)
        yield message


def main():
    found = {}
    for name in dir(types):
        kind = getattr(types, name)
        if hasattr(kind, "pb"):
            for descriptor in messages(kind.pb().DESCRIPTOR):
                found[descriptor.full_name] = descriptor
    for module, name in [(status_pb2, "Status"), (latlng_pb2, "LatLng")]:
        descriptor = getattr(module, name).DESCRIPTOR
        found[descriptor.full_name] = descriptor
    with open("messages.txt", "w", encoding="utf-8") as file:
        for name in sorted(found):
            for message in samples(found[name]):
                text = text_format.MessageToString(message, as_one_line=True)
                # Their Python renames what is a word of Python.
                text = text.replace("from_ ", "from ").replace("from_:", "from:")
                file.write(f"{name}\n{message.SerializeToString().hex()}\n{text}\n\n")


main()
