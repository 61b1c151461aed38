internal import LarderModel

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
