import Foundation
import Larder
import SwiftProtobuf

extension Google_Protobuf_Value {
    /// The value of a JSON text.
    init(text: String) throws {
        try self.init(jsonString: text)
    }

    /// The value as an application gives it: with sentinels for the words that stand for them.
    var userValue: Any {
        switch kind {
        case nil, .nullValue: return NSNull()
        case .boolValue(let value): return value
        case .numberValue(let number):
            return Int64(exactly: number).map { Int($0) as Any } ?? number
        case .stringValue("Delete"): return FieldValue.delete()
        case .stringValue("ServerTimestamp"): return FieldValue.serverTimestamp()
        case .stringValue("NaN"): return Double.nan
        case .stringValue(let text): return text
        case .structValue(let value): return value.fields.mapValues(\.userValue)
        case .listValue(let list):
            let elements = { list.values.dropFirst().map(\.userValue) }
            return switch list.values.first?.stringValue {
            case "ArrayUnion": FieldValue.arrayUnion(elements())
            case "ArrayRemove": FieldValue.arrayRemove(elements())
            default: list.values.map(\.userValue)
            }
        }
    }

    /// The message that it is the JSON form of.
    ///
    /// Fields are a map in that form and entries in the messages here, in the order of their names.
    func message<M: SwiftProtobuf.Message>(of type: M.Type) throws -> M {
        try M(jsonUTF8Data: try withEntries.jsonUTF8Data())
    }

    private var withEntries: Google_Protobuf_Value {
        switch kind {
        case .listValue(let list):
            return .with { $0.listValue.values = list.values.map(\.withEntries) }
        case .structValue(var value):
            for (name, part) in value.fields {
                guard name == "fields", case .structValue(let map)? = part.kind else {
                    value.fields[name] = part.withEntries
                    continue
                }
                let names = map.fields.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
                let entries = names.map { key in
                    Google_Protobuf_Value.with {
                        $0.structValue.fields["key"] = .with { $0.stringValue = key }
                        $0.structValue.fields["value"] = map.fields[key]?.withEntries
                    }
                }
                value.fields[name] = .with { $0.listValue.values = entries }
            }
            return .with { $0.structValue = value }
        default: return self
        }
    }

    /// The path of a field: `{"field": ["a", "b"]}`.
    var fieldPath: Larder.FieldPath {
        Larder.FieldPath(structValue.fields["field"]?.listValue.values.map(\.stringValue) ?? [])
    }
}

extension ConformanceCase {
    /// The fields that the test writes.
    func data(_ key: String = "jsonData") throws -> [String: Any] {
        let value = try Google_Protobuf_Value(text: body[key]?.stringValue ?? "{}")
        return value.structValue.fields.mapValues(\.userValue)
    }
}
