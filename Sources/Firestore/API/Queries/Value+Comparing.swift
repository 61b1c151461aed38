import LarderModel

extension Value {
    /// What a user compares fields with; references may be of any database.
    init(comparing value: Any, allowsNestedArrays: Bool = false) throws(LarderError) {
        do throws(UserValueProblem) {
            var parser = try UserValueParser(.query(nestedArrays: allowsNestedArrays))
            self = try parser.value(value)
        } catch {
            throw error.error
        }
    }
}
