import LarderModel

/// The reason why an application's value cannot be stored or compared, and its position.
struct UserValueProblem: Error, Hashable {
    let text: String

    /// The position in the data, such as `a.b[2].c`; empty for a standalone value.
    let location: String

    /// The condition in terms of the storage core.
    let condition: LarderError.Condition

    init(
        _ text: String, at location: String = "",
        condition: LarderError.Condition = .invalidArgument
    ) {
        self.text = text
        self.location = location
        self.condition = condition
    }

    init(_ error: LarderError, at location: String) {
        self.init(error.message, at: location, condition: error.condition)
    }

    /// The same problem inside an outer position.
    func inside(_ outer: String) -> UserValueProblem {
        UserValueProblem(text, at: outer + location, condition: condition)
    }

    /// The error for the application, which names the field.
    var error: LarderError {
        LarderError(
            .invalidArgument, location.isEmpty ? text : "\(text) (found in field \(location))",
            condition: condition)
    }
}

/// The position of a parser in the data: map keys and array indexes.
struct UserValueLocation {
    private enum Step {
        case name(String)
        case position(Int)
    }

    private var steps: [Step] = []

    /// The length of the field path so far, including dots, in bytes.
    private(set) var pathBytes = 0

    init(_ path: LarderModel.FieldPath? = nil) {
        for name in path?.segments ?? [] { push(name) }
    }

    mutating func push(_ name: String) {
        pathBytes += name.utf8.count + (steps.isEmpty ? 0 : 1)
        steps.append(.name(name))
    }

    mutating func push(position: Int) {
        steps.append(.position(position))
    }

    mutating func pop() {
        if case .name(let name)? = steps.popLast() {
            pathBytes -= name.utf8.count + (steps.isEmpty ? 0 : 1)
        }
    }

    /// The position as a field path; nil inside an array.
    var fieldPath: LarderModel.FieldPath? {
        var names: [String] = []
        for step in steps {
            guard case .name(let name) = step else { return nil }
            names.append(name)
        }
        return names.isEmpty ? nil : LarderModel.FieldPath(unchecked: names)
    }

    /// The position as text: `a.b[2].c`.
    var description: String {
        var text = ""
        for step in steps {
            switch step {
            case .name(let name): text += text.isEmpty ? name : "." + name
            case .position(let position): text += "[\(position)]"
            }
        }
        return text
    }
}
