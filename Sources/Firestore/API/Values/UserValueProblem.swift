internal import LarderModel

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
