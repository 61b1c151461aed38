import LarderModel

/// Encodes an application's values, collecting sentinels and, for merging writes, the leaves.
///
/// A parser handles one write or value; discard it after an error.
struct UserValueParser {
    /// The purpose of the data, which determines the allowed values.
    enum Purpose {
        /// A whole document.
        case set
        case mergeSet
        /// Fields to replace.
        case update
        /// Elements of an array union or removal.
        case transformElements
        /// A value to compare with; the flag allows arrays inside the outermost one.
        case query(nestedArrays: Bool)
    }

    /// The maximum nesting depth of maps and arrays in a document, not counting the document
    /// itself.
    static let maxDepth = 20

    let purpose: Purpose
    let database: DatabaseID?
    let builder: RecordBuilder
    var location = UserValueLocation()
    /// The paths that a merging write sets or deletes: every leaf, including empty maps.
    var leaves: [LarderModel.FieldPath] = []
    var transforms: [FieldTransform] = []
    private var isInArray = false
    private var depth = 0

    /// - Parameter database: the database that references must belong to; nil for any.
    init(_ purpose: Purpose, in database: DatabaseID? = nil) throws(UserValueProblem) {
        self.purpose = purpose
        self.database = database
        do throws(LarderError) {
            builder = try RecordBuilder()
        } catch {
            throw UserValueProblem(error, at: "")
        }
    }

    /// A problem at the current position.
    func problem(
        _ text: String, condition: LarderError.Condition = .invalidArgument
    ) -> UserValueProblem {
        UserValueProblem(text, at: location.description, condition: condition)
    }

    /// Calls the builder, converting its errors.
    func build(_ body: () throws(LarderError) -> Void) throws(UserValueProblem) {
        do throws(LarderError) {
            try body()
        } catch {
            throw UserValueProblem(error, at: location.description)
        }
    }

    mutating func appendEntries(of map: [String: Any]) throws(UserValueProblem) {
        for (name, value) in map {
            location.push(name)
            try checkName(name)
            try appendEntry(name, try classify(value))
            location.pop()
        }
    }

    /// Appends one entry or records its sentinel.
    mutating func appendEntry(_ name: String, _ value: UserValue) throws(UserValueProblem) {
        switch value {
        case .sentinel(let sentinel):
            try note(sentinel)
        case .scalar(let scalar):
            try build { () throws(LarderError) in
                try builder.appendName(name)
                try builder.append(scalar)
            }
            noteLeaf()
        case .array(let elements):
            try build { () throws(LarderError) in try builder.appendName(name) }
            try appendArray(elements)
            noteLeaf()
        case .map(let entries) where Self.holdsTransformsAlone(entries):
            // Their effects create the map.
            try descend()
            try appendEntries(of: entries)
            ascend()
        case .map(let entries):
            try build { () throws(LarderError) in try builder.appendName(name) }
            try appendMap(entries)
            if entries.isEmpty { noteLeaf() }
        }
    }

    /// Appends a value that is not a map entry.
    mutating func append(_ value: Any) throws(UserValueProblem) {
        switch try classify(value) {
        case .sentinel(let sentinel): throw misplaced(sentinel)
        case .scalar(let scalar): try build { () throws(LarderError) in try builder.append(scalar) }
        case .array(let elements): try appendArray(elements)
        case .map(let entries): try appendMap(entries)
        }
    }

    private mutating func appendArray(_ elements: [Any]) throws(UserValueProblem) {
        guard !isInArray || allowsNestedArrays else {
            throw problem("arrays cannot directly contain arrays; put a map between them")
        }
        let wasInArray = isInArray
        isInArray = true
        try descend()
        try build { () throws(LarderError) in try builder.beginArray() }
        for (position, element) in elements.enumerated() {
            location.push(position: position)
            try append(element)
            location.pop()
        }
        try build { () throws(LarderError) in try builder.endArray() }
        depth -= 1
        isInArray = wasInArray
    }

    private mutating func appendMap(_ entries: [String: Any]) throws(UserValueProblem) {
        let wasInArray = isInArray
        isInArray = false
        try descend()
        try build { () throws(LarderError) in try builder.beginMap() }
        try appendEntries(of: entries)
        try build { () throws(LarderError) in try builder.endMap() }
        depth -= 1
        isInArray = wasInArray
    }

    /// Enters a map or an array.
    mutating func descend() throws(UserValueProblem) {
        depth += 1
        let allowed = allowsNestedArrays ? Self.maxDepth + 1 : Self.maxDepth
        guard depth <= allowed else {
            throw problem(
                "maps and arrays are nested deeper than \(allowed) levels", condition: .tooDeep)
        }
    }

    mutating func ascend() {
        depth -= 1
    }

    /// Classifies the value at the current position.
    func classify(_ value: Any) throws(UserValueProblem) -> UserValue {
        do throws(UserValueProblem) {
            return try UserValue(value, in: database)
        } catch {
            throw error.inside(location.description)
        }
    }
}

// MARK: - Value

extension UserValueParser {
    /// Parses a standalone value: of a query, or an element of a union or removal.
    ///
    /// - Parameter isElement: whether the value is an array element, where arrays are not allowed.
    mutating func value(_ value: Any, isElement: Bool = false) throws(UserValueProblem) -> Value {
        switch try classify(value) {
        case .scalar(let scalar): return scalar
        case .sentinel(let sentinel): throw misplaced(sentinel)
        case .array where isElement:
            throw problem("arrays cannot directly contain arrays; put a map between them")
        case .array, .map:
            builder.reset()
            try append(value)
            do throws(LarderError) {
                return try builder.finishValue()
            } catch {
                throw UserValueProblem(error, at: location.description)
            }
        }
    }

    func finishRecord() throws(UserValueProblem) -> Record {
        do throws(LarderError) {
            return try builder.finishRecord()
        } catch {
            throw UserValueProblem(error, at: "")
        }
    }
}

// MARK: - Update

extension UserValueParser {
    /// A field of an update.
    typealias Field = (path: LarderModel.FieldPath, value: Any)

    /// Builds the document that contains the fields and returns the paths to set or delete.
    ///
    /// - Parameter fields: in path order and without overlaps, so that fields of one map are
    ///   adjacent.
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

    /// Closes open maps that are not on the path and opens the missing ones.
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
