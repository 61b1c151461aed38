import LarderCore
import LarderModel

/// What a command prints with `--json`: values in a given order.
indirect enum JSONReport {
    case null
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    case array([JSONReport])
    case object([(String, JSONReport)])
    /// The fields of a document, with values in the notation of ``TypedJSON``.
    case fields(MapValue)
    /// A value in the notation of ``TypedJSON``.
    case value(LarderModel.Value)

    /// An integer.
    static func integer(_ number: Int) -> JSONReport { .integer(Int64(number)) }

    /// An instant as text, null where there is none.
    static func time(_ time: Timestamp?) -> JSONReport {
        time.map { .string($0.description) } ?? .null
    }

    /// A version as text, null where there is none.
    static func version(_ version: SnapshotVersion) -> JSONReport {
        version.isNone ? .null : .string(version.description)
    }

    /// A ratio or a duration, with few digits.
    static func rounded(_ number: Double) -> JSONReport {
        number.isFinite ? .double((number * 1000).rounded() / 1000) : .null
    }

    /// Appends it as one line of JSON.
    func append(to bytes: inout [UInt8]) {
        switch self {
        case .null: JSONWriter.append(raw: "null", to: &bytes)
        case .boolean(let flag): JSONWriter.append(flag, to: &bytes)
        case .integer(let integer): JSONWriter.append(integer, to: &bytes)
        case .double(let double): JSONWriter.appendTyped(double, to: &bytes)
        case .string(let string): JSONWriter.append(string, to: &bytes)
        case .fields(let fields): JSONWriter.append(fields, to: &bytes)
        case .value(let value): JSONWriter.append(value, to: &bytes)
        case .array(let elements):
            JSONWriter.append(raw: "[", to: &bytes)
            for (position, element) in elements.enumerated() {
                if position > 0 { JSONWriter.append(raw: ",", to: &bytes) }
                element.append(to: &bytes)
            }
            JSONWriter.append(raw: "]", to: &bytes)
        case .object(let entries):
            JSONWriter.append(raw: "{", to: &bytes)
            for (position, entry) in entries.enumerated() {
                if position > 0 { JSONWriter.append(raw: ",", to: &bytes) }
                JSONWriter.append(entry.0, to: &bytes)
                JSONWriter.append(raw: ":", to: &bytes)
                entry.1.append(to: &bytes)
            }
            JSONWriter.append(raw: "}", to: &bytes)
        }
    }
}

extension JSONReport: ExpressibleByDictionaryLiteral {
    init(dictionaryLiteral elements: (String, JSONReport)...) {
        self = .object(elements)
    }
}

extension Output {
    /// Adds a report and a line end.
    func line(_ report: JSONReport) {
        append { bytes in
            report.append(to: &bytes)
            bytes.append(UInt8(ascii: "\n"))
        }
    }
}
