import LarderCore
import LarderModel

/// The fields of a document as people read them: a line for each, maps indented.
enum FieldText {
    /// Lines of a map's entries.
    static func lines(of map: MapValue) -> [String] {
        let width = map.map { DisplayWidth.of($0.name) }.max() ?? 0
        return map.flatMap { name, value in
            if case .map(let inner) = value, !inner.isEmpty {
                return [name] + lines(of: inner).map { "  " + $0 }
            }
            let padding = String(repeating: " ", count: width - DisplayWidth.of(name))
            return ["\(name)\(padding)  \(text(of: value))"]
        }
    }

    /// A value in one line, with its type where JSON has none.
    static func text(of value: Value) -> String {
        switch value {
        case .timestamp(let time): return "timestamp \(time)"
        case .serverTimestamp(let pending): return "pending since \(pending.localWriteTime)"
        case .geoPoint(let point): return "geo point \(point.latitude), \(point.longitude)"
        case .bytes(let bytes):
            return "\(NumberText.things(Int64(bytes.count), "byte")) \(hexadecimal(bytes))"
        case .reference(let name): return "reference \(name.string)"
        case .vector(let vector):
            return "vector of \(vector.components.count) \(vector.components)"
        case .double(let double) where !double.isFinite: return double.description
        case .array(let elements):
            return "[" + elements.map(text(of:)).joined(separator: ", ") + "]"
        case .map(let map):
            var name: [UInt8] = []
            let entries = map.map { entry in
                name.removeAll()
                JSONWriter.append(entry.name, to: &name)
                return "\(String(decoding: name, as: UTF8.self)): \(text(of: entry.value))"
            }
            return "{" + entries.joined(separator: ", ") + "}"
        default:
            var bytes: [UInt8] = []
            JSONWriter.append(value, to: &bytes)
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        let shown = bytes.prefix(32).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return shown.joined() + (bytes.count > 32 ? "…" : "")
    }
}
