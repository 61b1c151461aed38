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

    /// All values of a kind, in byte order of their names.
    public func namedValues(_ kind: NamedValue.Kind) throws(LarderError) -> [NamedValue] {
        var values: [NamedValue] = []
        while true {
            var (name, payload) = (larder_bytes(), larder_bytes())
            var time = larder_time()
            let status = try call { failure in
                withBytes(values.last?.name ?? "") {
                    larder_named_next(
                        snapshot.reader, kind.rawValue, $0, &name, &time, &payload, failure)
                }
            }
            guard status == .ok else { return values }
            values.append(
                NamedValue(name: name.text, time: time.version, payload: payload.array))
        }
    }
}
