import CLarder
public import LarderModel

extension ReadableTransaction where Self: ~Copyable {
    /// The value of a name; nil when there is none.
    public func namedValue(_ kind: NamedValue.Kind, _ name: String)
        throws(LarderError) -> NamedValue?
    {
        var time = larder_time()
        var payload = larder_bytes()
        let status = try call { failure in
            withBytes(name) {
                larder_named_get(snapshot.reader, kind.rawValue, $0, &time, &payload, failure)
            }
        }
        guard status == .ok else { return nil }
        return NamedValue(name: name, time: time.version, payload: payload.array)
    }

    /// Values of a kind whose names go on behind a text, in byte order of their names.
    ///
    /// - Parameters:
    ///   - kind: the kind.
    ///   - prefix: what the names begin with; empty for all.
    ///   - name: only those with a greater name; nil for all.
    ///   - limit: at most how many.
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
                    name: next.name, time: next.time.version, payload: next.payload.array))
        }
        return values
    }

    /// The names of values of a kind that go on behind a text, in byte order.
    ///
    /// - Parameters:
    ///   - kind: the kind.
    ///   - prefix: what the names begin with; empty for all.
    ///   - limit: at most how many.
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

    /// The number of values of a kind whose names go on behind a text.
    ///
    /// Linear in that number; nothing is copied but names.
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
        let status = try call { failure in
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
