import LarderModel

/// A sentinel for an operation on a field, used in place of a value.
///
/// Sentinels can be used in the data of `setData` and `updateData`, at the top level or inside
/// maps, but not inside arrays. They can be shared between threads.
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

    /// Deletes the field.
    ///
    /// Allowed at the top level of `updateData` and in `setData` with merge.
    public static func delete() -> FieldValue {
        FieldValue(.delete)
    }

    /// Sets the field to the server's commit time in milliseconds.
    ///
    /// Until the server has committed the write, ``ServerTimestampBehavior`` determines the value
    /// of the field.
    public static func serverTimestamp() -> FieldValue {
        FieldValue(.serverTimestamp)
    }

    /// Appends the elements that an array does not contain; a field that is not an array is
    /// replaced by one.
    ///
    /// The elements are converted immediately; invalid elements are reported by the write.
    public static func arrayUnion(_ elements: [Any]) -> FieldValue {
        FieldValue(.arrayUnion(ElementList(elements)))
    }

    /// Removes all occurrences of the elements from an array; a field that is not an array is
    /// replaced by an empty one.
    ///
    /// The elements are converted immediately; invalid elements are reported by the write.
    public static func arrayRemove(_ elements: [Any]) -> FieldValue {
        FieldValue(.arrayRemove(ElementList(elements)))
    }
}

extension FieldValue {
    /// Adds to a number; a field that is not a number is set to the operand.
    ///
    /// Two integers yield an integer, saturating at the limits of `Int64`; if either operand is a
    /// double, the result is a double.
    public static func increment(_ amount: Int64) -> FieldValue {
        FieldValue(.increment(.integer(amount)))
    }

    /// Adds to a number; a field that is not a number is set to the operand.
    public static func increment(_ amount: Int) -> FieldValue {
        FieldValue(.increment(.integer(Int64(amount))))
    }

    /// Adds to a number; a field that is not a number is set to the operand.
    public static func increment(_ amount: Double) -> FieldValue {
        FieldValue(.increment(.double(amount)))
    }

    /// Sets the field to the minimum of its number and the operand; a field that is not a number is
    /// set to the operand.
    public static func minimum(_ number: Int64) -> FieldValue {
        FieldValue(.minimum(.integer(number)))
    }

    /// Sets the field to the minimum of its number and the operand.
    public static func minimum(_ number: Int) -> FieldValue {
        FieldValue(.minimum(.integer(Int64(number))))
    }

    /// Sets the field to the minimum of its number and the operand.
    public static func minimum(_ number: Double) -> FieldValue {
        FieldValue(.minimum(.double(number)))
    }

    /// Sets the field to the maximum of its number and the operand; a field that is not a number is
    /// set to the operand.
    public static func maximum(_ number: Int64) -> FieldValue {
        FieldValue(.maximum(.integer(number)))
    }

    /// Sets the field to the maximum of its number and the operand.
    public static func maximum(_ number: Int) -> FieldValue {
        FieldValue(.maximum(.integer(Int64(number))))
    }

    /// Sets the field to the maximum of its number and the operand.
    public static func maximum(_ number: Double) -> FieldValue {
        FieldValue(.maximum(.double(number)))
    }

    /// A vector of doubles, an ordinary value that is also allowed inside arrays.
    public static func vector(_ components: [Double]) -> VectorValue {
        VectorValue(components)
    }

    /// A vector of floats, stored as doubles.
    @_disfavoredOverload
    public static func vector(_ components: [Float]) -> VectorValue {
        VectorValue(components.map(Double.init))
    }
}

extension FieldValue {
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

extension FieldValue: Hashable, ObjectComparable {
    /// True if both are the same operation.
    public static func == (left: FieldValue, right: FieldValue) -> Bool {
        left.operation == right.operation
    }

    /// Hashes the operation.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(operation)
    }
}

extension FieldValue: CustomStringConvertible {
    /// The call that creates it.
    public var description: String { "FieldValue.\(name)" }

    /// The call that creates it, without the type's name.
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

/// The elements of an array union or removal.
///
/// They are parsed when the sentinel is created, so that it can be shared between threads; errors
/// are reported when it is used.
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

    /// The elements; throws if a reference belongs to a database other than the given one.
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
