package import LarderModel
package import LarderQuery

/// Writes bundles as a server does, or in any other way that is allowed: the reader's opposite.
package struct BundleText {
    /// The database of which bundles are.
    package static let database = DatabaseID(project: "p", database: "d")
    private static let root = "projects/p/databases/d/documents"

    /// The parts behind the metadata, each with its length.
    package private(set) var elements: [[UInt8]] = []
    /// The documents in it.
    package private(set) var documentCount = 0
    /// Where there is a choice of notation, how it is made; nil for the usual one.
    package var random: SeededRandom?

    /// Nothing yet.
    package init(random: SeededRandom? = nil) {
        self.random = random
    }

    // MARK: Parts

    /// All of it, the metadata first.
    package func bytes(
        id: String = "bundle", createTime seconds: Int64 = 10, documents: Int? = nil,
        version: Int = 1
    ) -> [UInt8] {
        var writer = self
        let size = elements.reduce(0) { $0 + $1.count }
        let time = writer.time(Timestamp(seconds: seconds, nanoseconds: 0))
        let text =
            #"{"metadata":{"id":\#(writer.quoted(id)),"createTime":\#(time),"#
            + #""version":\#(version),"totalDocuments":\#(documents ?? documentCount),"#
            + #""totalBytes":\#(size)}}"#
        return Self.element(text) + elements.joined()
    }

    /// Adds a part as it is.
    package mutating func add(raw text: String) {
        elements.append(Self.element(text))
    }

    /// Adds a document, or that there is none.
    package mutating func add(
        _ path: String, _ fields: MapValue?, at seconds: Int64, queries: [String] = []
    ) {
        add(path, fields, at: Timestamp(seconds: seconds, nanoseconds: 0), queries: queries)
    }

    /// Adds a document, or that there is none.
    package mutating func add(
        _ path: String, _ fields: MapValue?, at time: Timestamp, queries: [String] = []
    ) {
        let name = quoted("\(Self.root)/\(path)")
        let names = queries.map { quoted($0) }.joined(separator: ",")
        add(
            raw: #"{"documentMetadata":{"name":\#(name),"readTime":\#(self.time(time)),"#
                + #""exists":\#(fields != nil),"queries":[\#(names)]}}"#)
        documentCount += 1
        guard let fields else { return }
        add(
            raw: #"{"document":{"name":\#(name),"updateTime":\#(self.time(time)),"#
                + #""createTime":\#(self.time(.epoch)),"fields":\#(map(fields))}}"#)
    }

    /// Adds a query under a name.
    package mutating func add(_ query: Query, named name: String, at seconds: Int64) {
        let time = time(Timestamp(seconds: seconds, nanoseconds: 0))
        add(
            raw: #"{"namedQuery":{"name":\#(quoted(name)),"readTime":\#(time),"#
                + #""bundledQuery":\#(bundled(query))}}"#)
    }

    /// A part with its length.
    package static func element(_ text: String) -> [UInt8] {
        Array("\(text.utf8.count)\(text)".utf8)
    }

    // MARK: Values

    /// A value in the notation of bundles.
    package mutating func value(_ value: Value) -> String {
        switch value {
        case .null: return #"{"nullValue":null}"#
        case .boolean(let value): return #"{"booleanValue":\#(value)}"#
        case .integer(let value):
            return #"{"integerValue":\#(chooses() ? "\(value)" : "\"\(value)\"")}"#
        case .double(let value): return #"{"doubleValue":\#(double(value))}"#
        case .timestamp(let value): return #"{"timestampValue":\#(time(value))}"#
        case .string(let value): return #"{"stringValue":\#(quoted(value))}"#
        case .bytes(let value): return #"{"bytesValue":"\#(base64(value))"}"#
        case .reference(let value): return #"{"referenceValue":\#(quoted(value.string))}"#
        case .geoPoint(let value):
            return #"{"geoPointValue":{"latitude":\#(double(value.latitude)),"#
                + #""longitude":\#(double(value.longitude))}}"#
        case .array(let values):
            let elements = values.map { self.value($0) }.joined(separator: chooses() ? " ,\n" : ",")
            return #"{"arrayValue":{"values":[\#(elements)]}}"#
        case .vector(let vector):
            let entries: MapValue = [
                "__type__": "__vector__", "value": .array(vector.components.map { .double($0) }),
            ]
            return self.value(.map(entries))
        case .map(let entries): return #"{"mapValue":{"fields":\#(map(entries))}}"#
        case .serverTimestamp, .max: return "{}"
        }
    }

    private mutating func map(_ entries: MapValue) -> String {
        let members = entries.map { "\(quoted($0.name)):\(value($0.value))" }
        return "{" + members.joined(separator: chooses() ? "\t, " : ",") + "}"
    }

    private mutating func double(_ number: Double) -> String {
        if number.isNaN { return #""NaN""# }
        if number.isInfinite { return number < 0 ? #""-Infinity""# : #""Infinity""# }
        return chooses() ? "\"\(number)\"" : "\(number)"
    }

    private mutating func time(_ time: Timestamp) -> String {
        guard chooses() else { return "\"\(time)\"" }
        return #"{"seconds":"\#(time.seconds)","nanos":\#(time.nanoseconds)}"#
    }

    private mutating func base64(_ bytes: [UInt8]) -> String {
        let isURL = chooses()
        let alphabet = Array(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                + (isURL ? "-_" : "+/"))
        var text = ""
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            var digits: [Character] = []
            for _ in 0..<4 {
                digits.insert(alphabet[bits & 63], at: 0)
                bits >>= 6
            }
            text += String(digits.prefix(group.count + 1))
            if !isURL { text += String(repeating: "=", count: 3 - group.count) }
        }
        return text
    }

    private mutating func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case _ where scalar.value < 0x20 || chooses():
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    private mutating func chooses() -> Bool { random?.oneIn(3) ?? false }

    // MARK: Queries

    private mutating func bundled(_ query: Query) -> String {
        var parent = Self.root
        var parts: [String] = []
        switch query.source {
        case .collection(let path):
            if let document = path.parent { parent += "/\(document)" }
            parts.append(#""from":[{"collectionId":\#(quoted(path.id))}]"#)
        case .group(let id):
            parts.append(#""from":[{"collectionId":\#(quoted(id)),"allDescendants":true}]"#)
        case .document(let path): parent += "/\(path)"
        }
        if let filter = query.filters.first {
            let all = query.filters.count == 1 ? filter : .and(query.filters)
            parts.append(#""where":\#(self.filter(all))"#)
        }
        if !query.explicitOrders.isEmpty {
            let orders = query.explicitOrders.map {
                #"{"field":\#(field($0.path))"#
                    + ($0.isDescending || chooses()
                        ? #","direction":"\#($0.isDescending ? "DESCENDING" : "ASCENDING")"}"#
                        : "}")
            }
            parts.append(#""orderBy":[\#(orders.joined(separator: ","))]"#)
        }
        if let count = query.limit?.count {
            parts.append(#""limit":\#(chooses() ? "{\"value\":\(count)}" : "\(count)")"#)
        }
        if let start = query.start {
            parts.append(#""startAt":\#(bound(start, start.isInclusive))"#)
        }
        if let end = query.end { parts.append(#""endAt":\#(bound(end, !end.isInclusive))"#) }
        var limitType = chooses() ? #","limitType":"FIRST""# : ""
        if case .last = query.limit { limitType = #","limitType":"LAST""# }
        return #"{"parent":\#(quoted(parent)),"#
            + #""structuredQuery":{\#(parts.joined(separator: ","))}\#(limitType)}"#
    }

    private mutating func field(_ path: FieldPath) -> String {
        #"{"fieldPath":\#(quoted(path.canonicalString))}"#
    }

    private mutating func bound(_ bound: Bound, _ isBefore: Bool) -> String {
        let values = bound.values.map { value($0) }.joined(separator: ",")
        return #"{"values":[\#(values)]\#(isBefore ? ",\"before\":true" : "")}"#
    }

    private mutating func filter(_ filter: Filter) -> String {
        switch filter {
        case .and(let filters): return composite("AND", filters)
        case .or(let filters): return composite("OR", filters)
        case .field(let filter):
            let field = field(filter.path)
            let isUnary = filter.op == .equal || filter.op == .notEqual
            if isUnary, filter.value == .null {
                let op = filter.op == .equal ? "IS_NULL" : "IS_NOT_NULL"
                return #"{"unaryFilter":{"op":"\#(op)","field":\#(field)}}"#
            }
            if isUnary, filter.value == .double(.nan) {
                let op = filter.op == .equal ? "IS_NAN" : "IS_NOT_NAN"
                return #"{"unaryFilter":{"op":"\#(op)","field":\#(field)}}"#
            }
            return #"{"fieldFilter":{"field":\#(field),"op":"\#(Self.names[filter.op] ?? "")","#
                + #""value":\#(value(filter.value))}}"#
        }
    }

    private mutating func composite(_ op: String, _ filters: [Filter]) -> String {
        let parts = filters.map { filter($0) }.joined(separator: ",")
        return #"{"compositeFilter":{"op":"\#(op)","filters":[\#(parts)]}}"#
    }

    private static let names: [FieldFilter.Operator: String] = [
        .lessThan: "LESS_THAN", .lessThanOrEqual: "LESS_THAN_OR_EQUAL", .equal: "EQUAL",
        .notEqual: "NOT_EQUAL", .greaterThan: "GREATER_THAN",
        .greaterThanOrEqual: "GREATER_THAN_OR_EQUAL", .arrayContains: "ARRAY_CONTAINS",
        .arrayContainsAny: "ARRAY_CONTAINS_ANY", .in: "IN", .notIn: "NOT_IN",
    ]
}
