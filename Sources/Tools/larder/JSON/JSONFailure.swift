/// Why a text is not the JSON that is wanted, and where.
struct JSONFailure: Error, Equatable {
    /// The byte at which reading stopped, counted from the beginning of the text.
    var offset: Int
    /// What is wrong there, in one line.
    var reason: String
}
