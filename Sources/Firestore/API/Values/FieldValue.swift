import LarderModel

/// What a write does to a field instead of giving it a value.
///
/// Values of this class stand in the data of `setData` and `updateData`, at the top level or
/// inside maps, never inside arrays. They can be shared between threads.
public final class FieldValue: Sendable {
    enum Operation: Sendable, Hashable {
        case delete
        case serverTimestamp
        case arrayUnion(ElementList)
        case arrayRemove(ElementList)
        case increment(Value)
        case minimum(Value)
        case maximum(Value)
    }

    let operation: Operation

    private init(_ operation: Operation) {
        self.operation = operation
    }

    /// Removes the field.
    ///
    /// Allowed in `updateData` at the top level, and in `setData` with merging.
    public static func delete() -> FieldValue {
        FieldValue(.delete)
    }

    /// Sets the field to the server's time at the commit.
    ///
    /// Until the server has answered the field reads as the `ServerTimestampBehavior` asks.
    public static func serverTimestamp() -> FieldValue {
        FieldValue(.serverTimestamp)
    }

    /// Appends those elements to an array that are not in it; a field that is no array becomes one.
    ///
    /// The elements are read now; one that cannot be stored is reported when the write is made.
    public static func arrayUnion(_ elements: [Any]) -> FieldValue {
        FieldValue(.arrayUnion(ElementList(elements)))
    }

    /// Removes every element from an array that equals one of these; a field that is no array
    /// becomes an empty one.
    ///
    /// The elements are read now; one that cannot be stored is reported when the write is made.
    public static func arrayRemove(_ elements: [Any]) -> FieldValue {
        FieldValue(.arrayRemove(ElementList(elements)))
    }
}

extension FieldValue {
    /// Adds to a number; a field that is no number becomes this one.
    ///
    /// Two integers give an integer, held at the ends of its range; a double on either side gives
    /// a double.
    public static func increment(_ amount: Int64) -> FieldValue {
        FieldValue(.increment(.integer(amount)))
    }

    /// Adds to a number; a field that is no number becomes this one.
    public static func increment(_ amount: Int) -> FieldValue {
        FieldValue(.increment(.integer(Int64(amount))))
    }

    /// Adds to a number; a field that is no number becomes this one.
    public static func increment(_ amount: Double) -> FieldValue {
        FieldValue(.increment(.double(amount)))
    }

    /// Keeps the smaller of the field's number and this one; a field that is no number becomes
    /// this one.
    public static func minimum(_ number: Int64) -> FieldValue {
        FieldValue(.minimum(.integer(number)))
    }

    /// Keeps the smaller of the field's number and this one.
    public static func minimum(_ number: Int) -> FieldValue {
        FieldValue(.minimum(.integer(Int64(number))))
    }

    /// Keeps the smaller of the field's number and this one.
    public static func minimum(_ number: Double) -> FieldValue {
        FieldValue(.minimum(.double(number)))
    }

    /// Keeps the larger of the field's number and this one; a field that is no number becomes
    /// this one.
    public static func maximum(_ number: Int64) -> FieldValue {
        FieldValue(.maximum(.integer(number)))
    }

    /// Keeps the larger of the field's number and this one.
    public static func maximum(_ number: Int) -> FieldValue {
        FieldValue(.maximum(.integer(Int64(number))))
    }

    /// Keeps the larger of the field's number and this one.
    public static func maximum(_ number: Double) -> FieldValue {
        FieldValue(.maximum(.double(number)))
    }

    /// A vector of doubles, which is an ordinary value and may also stand inside an array.
    public static func vector(_ components: [Double]) -> VectorValue {
        VectorValue(components)
    }

    /// A vector of floats, kept as doubles.
    @_disfavoredOverload
    public static func vector(_ components: [Float]) -> VectorValue {
        VectorValue(components.map(Double.init))
    }
}

extension FieldValue {
    /// What asks for a transform.
    convenience init(for transform: FieldTransform.Operation) {
        let operation: Operation =
            switch transform {
            case .serverTimestamp: .serverTimestamp
            case .arrayUnion(let values): .arrayUnion(.values(values))
            case .arrayRemove(let values): .arrayRemove(.values(values))
            case .increment(let number): .increment(number)
            case .minimum(let number): .minimum(number)
            case .maximum(let number): .maximum(number)
            }
        self.init(operation)
    }
}

extension FieldValue: Hashable {
    /// Whether both do the same.
    public static func == (left: FieldValue, right: FieldValue) -> Bool {
        left.operation == right.operation
    }

    /// Hashes what it does.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(operation)
    }
}

extension FieldValue: CustomStringConvertible {
    /// The call that made it.
    public var description: String { "FieldValue.\(name)" }

    /// The name of the call that made it, with parentheses.
    var name: String {
        switch operation {
        case .delete: "delete()"
        case .serverTimestamp: "serverTimestamp()"
        case .arrayUnion: "arrayUnion()"
        case .arrayRemove: "arrayRemove()"
        case .increment: "increment()"
        case .minimum: "minimum()"
        case .maximum: "maximum()"
        }
    }
}

/// The elements of an array union or removal: read when the sentinel is made, so that it can be
/// shared between threads, and complained about when it is used.
enum ElementList: Sendable, Hashable {
    case values([Value])
    case invalid(UserValueProblem)

    init(_ elements: [Any]) {
        do throws(UserValueProblem) {
            var values: [Value] = []
            values.reserveCapacity(elements.count)
            for (position, element) in elements.enumerated() {
                var parser = try UserValueParser(.transformElements)
                parser.location.push(position: position)
                values.append(try parser.value(element, isElement: true))
            }
            self = .values(values)
        } catch {
            self = .invalid(error)
        }
    }

    /// The elements, whose references must be of a database; nil takes any.
    func get(in database: DatabaseID?) throws(UserValueProblem) -> [Value] {
        switch self {
        case .values(let values):
            if let database {
                for (position, value) in values.enumerated() {
                    try Self.check(value, in: database, at: "[\(position)]")
                }
            }
            return values
        case .invalid(let problem):
            throw problem
        }
    }

    private static func check(
        _ value: Value, in database: DatabaseID, at place: String
    ) throws(UserValueProblem) {
        switch value {
        case .reference(let name):
            guard let other = name.database, other != database else { return }
            throw UserValueProblem(
                "a reference to a document of \(other) cannot be used with \(database)", at: place)
        case .array(let values):
            for value in values { try check(value, in: database, at: place) }
        case .map(let entries):
            for entry in entries { try check(entry.value, in: database, at: place) }
        default:
            break
        }
    }
}
