import CLarder
public import LarderModel

extension WriteTransaction {
    /// Keeps a value by name; replaces an earlier one.
    ///
    /// - Throws: `invalidArgument` for a name that is empty or beyond 1,500 bytes.
    public mutating func putNamedValue(
        _ kind: NamedValue.Kind, _ name: String, _ payload: [UInt8],
        time: SnapshotVersion = .none
    ) throws(LarderError) {
        try call { failure in
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
    /// - Returns: whether there was one.
    @discardableResult
    public mutating func removeNamedValue(_ kind: NamedValue.Kind, _ name: String)
        throws(LarderError) -> Bool
    {
        let status = try call { failure in
            withBytes(name) { larder_named_remove(writer, kind.rawValue, $0, failure) }
        }
        return status == .ok
    }
}
