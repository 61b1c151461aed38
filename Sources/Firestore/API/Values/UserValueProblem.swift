import LarderModel

/// Why a value that an application gave cannot be stored or compared, and where it stands.
struct UserValueProblem: Error, Hashable {
    /// What is wrong, in words.
    let text: String

    /// Where in the data: `a.b[2].c`; empty for a value that stands alone.
    let location: String

    /// What it is in the storage core's terms.
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

    /// The same problem, met inside what stands at a place.
    func inside(_ outer: String) -> UserValueProblem {
        UserValueProblem(text, at: outer + location, condition: condition)
    }

    /// The problem as the error that the application sees; names the field.
    var error: LarderError {
        LarderError(
            .invalidArgument, location.isEmpty ? text : "\(text) (found in field \(location))",
            condition: condition)
    }
}

/// Where a parser is in the data: names of maps and positions in arrays.
struct UserValueLocation {
    private enum Step {
        case name(String)
        case position(Int)
    }

    private var steps: [Step] = []

    /// Bytes of the field path so far, with its dots.
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

    /// The names as a field path; nil inside an array.
    var fieldPath: LarderModel.FieldPath? {
        var names: [String] = []
        for step in steps {
            guard case .name(let name) = step else { return nil }
            names.append(name)
        }
        return names.isEmpty ? nil : LarderModel.FieldPath(unchecked: names)
    }

    /// The place in words: `a.b[2].c`.
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
