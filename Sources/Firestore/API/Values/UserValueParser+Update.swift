internal import LarderModel

extension UserValueParser {
    /// One field of an update.
    typealias Field = (path: LarderModel.FieldPath, value: Any)

    /// Builds the document that holds the fields, and gives the paths to set or delete.
    ///
    /// - Parameter fields: in the order of their paths, no two of them overlapping, so that
    ///   fields of one map follow each other.
    mutating func appendFields(_ fields: [Field]) throws(UserValueProblem)
        -> [LarderModel.FieldPath]
    {
        var mask: [LarderModel.FieldPath] = []
        mask.reserveCapacity(fields.count)
        try build { () throws(LarderError) in try builder.beginMap() }
        var open: ArraySlice<String> = []
        for field in fields {
            location = UserValueLocation()
            for name in field.path.segments {
                location.push(name)
                try checkName(name)
            }
            let value = try classify(field.value)
            if case .sentinel(let sentinel) = value {
                if sentinel.operation == .delete {
                    mask.append(field.path)
                } else {
                    try note(sentinel)
                }
                continue
            }
            mask.append(field.path)
            try enter(field.path.segments.dropLast(), from: open)
            open = field.path.segments.dropLast()
            try appendEntry(field.path.last, value)
        }
        try enter([], from: open)
        try build { () throws(LarderError) in try builder.endMap() }
        return mask
    }

    /// Ends the maps that are open and not on the way, and begins those that are missing.
    private mutating func enter(
        _ way: ArraySlice<String>, from open: ArraySlice<String>
    ) throws(UserValueProblem) {
        let shared = zip(way, open).prefix { $0.hasSameUTF8(as: $1) }.count
        for _ in shared..<open.count {
            ascend()
            try build { () throws(LarderError) in try builder.endMap() }
        }
        for name in way.dropFirst(shared) {
            try descend()
            try build { () throws(LarderError) in
                try builder.appendName(name)
                try builder.beginMap()
            }
        }
    }
}
