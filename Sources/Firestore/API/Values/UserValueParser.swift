import LarderModel

/// Walks through an application's values and encodes them, collecting the sentinels and, for
/// merging writes, the leaves on its way.
///
/// One parser is for one write or one value; after an error it is thrown away.
struct UserValueParser {
    /// What the data is for, which decides what may stand in it.
    enum Purpose {
        /// A whole document.
        case set
        /// A document to merge.
        case mergeSet
        /// Fields to replace.
        case update
        /// Elements of an array union or removal.
        case transformElements
        /// A value to compare with; the flag allows arrays inside the outermost.
        case query(nestedArrays: Bool)
    }

    /// How deep maps and arrays may be nested in a document, whose own map does not count.
    static let maxDepth = 20

    let purpose: Purpose
    let database: DatabaseID?
    let builder: RecordBuilder
    var location = UserValueLocation()
    /// The paths that a merging write sets or deletes: every leaf, an empty map too.
    var leaves: [LarderModel.FieldPath] = []
    var transforms: [FieldTransform] = []
    private var isInArray = false
    private var depth = 0

    /// - Parameter database: the database that references must be of; nil takes any.
    init(_ purpose: Purpose, in database: DatabaseID? = nil) throws(UserValueProblem) {
        self.purpose = purpose
        self.database = database
        do throws(LarderError) {
            builder = try RecordBuilder()
        } catch {
            throw UserValueProblem(error, at: "")
        }
    }

    /// What goes wrong at the present place.
    func problem(
        _ text: String, condition: LarderError.Condition = .invalidArgument
    ) -> UserValueProblem {
        UserValueProblem(text, at: location.description, condition: condition)
    }

    /// Calls the builder.
    func build(_ body: () throws(LarderError) -> Void) throws(UserValueProblem) {
        do throws(LarderError) {
            try body()
        } catch {
            throw UserValueProblem(error, at: location.description)
        }
    }

    /// Appends all entries to the map that the builder is in.
    mutating func appendEntries(of map: [String: Any]) throws(UserValueProblem) {
        for (name, value) in map {
            location.push(name)
            try checkName(name)
            try appendEntry(name, try classify(value))
            location.pop()
        }
    }

    /// Appends one entry, or notes its sentinel, at the present place.
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
            // What they do to the document brings the map about.
            try descend()
            try appendEntries(of: entries)
            ascend()
        case .map(let entries):
            try build { () throws(LarderError) in try builder.appendName(name) }
            try appendMap(entries)
            if entries.isEmpty { noteLeaf() }
        }
    }

    /// Appends a value that is no entry of a map.
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
            throw problem("an array stands inside another, where a map may stand between them")
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

    /// Enters a map or an array, or a map on the way to a field.
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

    /// What a value at the present place is.
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
    /// A value that stands alone: of a query, or an element of a union or removal.
    ///
    /// - Parameter isElement: whether an array would stand inside another.
    mutating func value(_ value: Any, isElement: Bool = false) throws(UserValueProblem) -> Value {
        switch try classify(value) {
        case .scalar(let scalar): return scalar
        case .sentinel(let sentinel): throw misplaced(sentinel)
        case .array where isElement:
            throw problem("an array stands inside another, where a map may stand between them")
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

    /// The document whose map was ended.
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
