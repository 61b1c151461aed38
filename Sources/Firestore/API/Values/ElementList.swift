internal import LarderModel

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
