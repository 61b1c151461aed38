import CLarder
public import LarderCore

/// A small value that is kept by name.
public struct NamedValue: Hashable, Sendable {
    /// A namespace of names.
    ///
    /// A database adds its own kinds; their numbers are part of the format.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The number that the core stores.
        public let rawValue: Int32

        /// A kind by its number.
        public init(rawValue: Int32) {
            self.rawValue = rawValue
        }

        /// Values of the store itself, such as a stream token.
        public static let global = Kind(rawValue: 1)
        /// Commits that other clients of the store have yet to apply.
        public static let journal = Kind(rawValue: 5)
        /// Clients that share the store.
        public static let client = Kind(rawValue: 6)
        /// State that the clients of the store share.
        public static let shared = Kind(rawValue: 7)
    }

    /// The name, 1 to 1,500 bytes.
    public let name: String
    /// The value's time; its meaning is the kind's.
    public let time: Timestamp?
    /// The value, in the caller's encoding.
    public let payload: [UInt8]
}

extension ReadableTransaction where Self: ~Copyable {
    /// The value of a name; nil when there is none.
    public func namedValue(_ kind: NamedValue.Kind, _ name: String)
        throws(LarderError) -> NamedValue?
    {
        var time = larder_time()
        var payload = larder_bytes()
        let status = try call(snapshot.errorDomain) { failure in
            withBytes(name) {
                larder_named_get(snapshot.reader, kind.rawValue, $0, &time, &payload, failure)
            }
        }
        guard status == .ok else { return nil }
        return NamedValue(name: name, time: time.timestamp, payload: payload.array)
    }

    /// The values of a kind whose names have a prefix, in byte order of their names.
    ///
    /// - Parameters:
    ///   - kind: the kind.
    ///   - prefix: the prefix of the names, which must be longer than it; empty for all.
    ///   - name: only those with a greater name; nil for all.
    ///   - limit: the maximum number.
    public func namedValues(
        _ kind: NamedValue.Kind, beginningWith prefix: String = "", after name: String? = nil,
        limit: Int = .max
    ) throws(LarderError) -> [NamedValue] {
        var values: [NamedValue] = []
        var last = prefix
        if let name, !name.utf8.lexicographicallyPrecedes(prefix.utf8) { last = name }
        while values.count < limit {
            guard let next = try nextNamedValue(kind, after: last, beginningWith: prefix) else {
                break
            }
            last = next.name
            values.append(
                NamedValue(
                    name: next.name, time: next.time.timestamp, payload: next.payload.array))
        }
        return values
    }

    /// The names of a kind's values that have a prefix, in byte order.
    ///
    /// - Parameters:
    ///   - kind: the kind.
    ///   - prefix: the prefix of the names, which must be longer than it; empty for all.
    ///   - limit: the maximum number.
    public func namedValueNames(
        _ kind: NamedValue.Kind, beginningWith prefix: String = "", limit: Int = .max
    ) throws(LarderError) -> [String] {
        var names: [String] = []
        while names.count < limit,
            let next = try nextNamedValue(
                kind, after: names.last ?? prefix, beginningWith: prefix)
        {
            names.append(next.name)
        }
        return names
    }

    /// The number of values of a kind whose names have a prefix.
    ///
    /// Linear in that number; only names are copied.
    public func namedValueCount(_ kind: NamedValue.Kind, beginningWith prefix: String = "")
        throws(LarderError) -> Int
    {
        var (count, last) = (0, prefix)
        while let next = try nextNamedValue(kind, after: last, beginningWith: prefix) {
            last = next.name
            count += 1
        }
        return count
    }

    /// The first value with a name above the given one; its payload is borrowed.
    private func nextNamedValue(
        _ kind: NamedValue.Kind, after last: String, beginningWith prefix: String
    ) throws(LarderError) -> (name: String, time: larder_time, payload: larder_bytes)? {
        var (name, time, payload) = (larder_bytes(), larder_time(), larder_bytes())
        let status = try call(snapshot.errorDomain) { failure in
            withBytes(last) {
                larder_named_next(
                    snapshot.reader, kind.rawValue, $0, &name, &time, &payload, failure)
            }
        }
        guard status == .ok else { return nil }
        let text = name.text
        return text.utf8.starts(with: prefix.utf8) ? (text, time, payload) : nil
    }
}

extension WriteTransaction {
    /// Stores a value by name; replaces an earlier one.
    ///
    /// - Throws: `invalidArgument` for a name that is empty or beyond 1,500 bytes.
    public mutating func putNamedValue(
        _ kind: NamedValue.Kind, _ name: String, _ payload: [UInt8],
        time: Timestamp? = nil
    ) throws(LarderError) {
        try call(snapshot.errorDomain) { failure in
            withBytes(name) { name in
                withBytes(payload) {
                    larder_named_put(
                        writer, kind.rawValue, name, larder_time(time), $0, failure)
                }
            }
        }
    }

    /// Removes a value.
    ///
    /// - Returns: true if there was one.
    @discardableResult
    public mutating func removeNamedValue(_ kind: NamedValue.Kind, _ name: String)
        throws(LarderError) -> Bool
    {
        let status = try call(snapshot.errorDomain) { failure in
            withBytes(name) { larder_named_remove(writer, kind.rawValue, $0, failure) }
        }
        return status == .ok
    }
}

extension WriteTransaction {
    /// The name of the store's clients at servers.
    ///
    /// - Parameters:
    ///   - name: the name of the value.
    ///   - make: makes the name at the first call.
    package mutating func obtainClientName(
        _ name: String, orMake make: () -> String = WriteToken.newName
    ) throws(LarderError) -> String {
        if let stored = try namedValue(.global, name) {
            return String(decoding: stored.payload, as: UTF8.self)
        }
        let client = make()
        try putNamedValue(.global, name, Array(client.utf8))
        return client
    }
}
