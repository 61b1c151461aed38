import LarderModel

extension Mutation {
    /// Throws unless a backend takes the mutation, whatever the document is.
    ///
    /// - Throws: `invalidArgument` for reserved field names, for pending server timestamps,
    ///   for arrays in arrays and for transforms by what is no number.
    func checkAcceptable() throws(LarderError) {
        switch operation {
        case .set(let record): try record.checkAcceptable()
        case .patch(let record, let mask):
            try record.checkAcceptable()
            for path in mask.paths { try path.checkNotReserved() }
        case .delete, .verify:
            guard transforms.isEmpty else {
                throw .invalidArgument("a delete or verify of '\(path)' has transforms")
            }
        }
        for transform in transforms {
            try transform.path.checkNotReserved()
            switch transform.operation {
            case .serverTimestamp: break
            case .arrayUnion(let elements), .arrayRemove(let elements):
                try RecordBuilder().encode(["elements": .array(elements)]).checkAcceptable()
            case .increment(let operand), .minimum(let operand), .maximum(let operand):
                guard operand.type == .integer || operand.type == .double else {
                    throw .invalidArgument(
                        "the transform of '\(transform.path)' has an operand that is no number")
                }
            }
        }
    }

    /// About how many bytes the mutation takes in a request.
    var sizeBytes: Int64 {
        switch operation {
        case .set(let record), .patch(let record, _): record.sizeBytes
        case .delete, .verify: 0
        }
    }
}

extension Record {
    /// Throws `invalidArgument` for what no document of a backend has.
    fileprivate func checkAcceptable() throws(LarderError) {
        var problem: String?
        try withView { (view) throws(LarderError) in
            try view.forEachField { name, value in
                problem = Self.problem(with: name) ?? Self.problem(in: value, isElement: false)
                return problem == nil ? .continue : .stop
            }
        }
        if let problem { throw .invalidArgument(problem) }
    }

    private static func problem(with name: String) -> String? {
        name.isReserved ? "the field name '\(name)' is reserved" : nil
    }

    private static func problem(in value: borrowing ValueView, isElement: Bool) -> String? {
        var problem: String?
        switch value.type {
        case .serverTimestamp: return "a server timestamp that is pending"
        case .array:
            if isElement { return "an array directly in an array" }
            value.forEachElement { element in
                problem = Self.problem(in: element, isElement: true)
                return problem == nil ? .continue : .stop
            }
        case .map:
            value.forEachEntry { name, entry in
                problem = Self.problem(with: name) ?? Self.problem(in: entry, isElement: false)
                return problem == nil ? .continue : .stop
            }
        default: break
        }
        return problem
    }
}

extension FieldPath {
    fileprivate func checkNotReserved() throws(LarderError) {
        if let name = segments.first(where: \.isReserved) {
            throw .invalidArgument("the field name '\(name)' is reserved")
        }
    }
}

extension String {
    /// Whether the text begins and ends with two underscores.
    fileprivate var isReserved: Bool {
        utf8.count >= 4 && utf8.starts(with: "__".utf8) && utf8.reversed().starts(with: "__".utf8)
    }
}
