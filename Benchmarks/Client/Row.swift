/// A row of the report: an operation at a number of documents.
struct Row {
    /// What a limit looks at.
    enum Quantity {
        case wall, processor
    }

    /// What has to be reached.
    enum Limit {
        /// Larder takes at most so many times as long as another.
        case atMost(Double, times: System, Quantity = .wall)
        /// Larder is at least so many times as fast as another.
        case atLeast(Double, timesAsFastAs: System, Quantity = .wall)
        /// Larder's figure itself.
        case value(Double, Quantity = .wall)
    }

    enum Unit: String {
        case microseconds = "us"
        case milliseconds = "ms"
        case bytes = "bytes"
        case times = "times"

        /// How many there are in a second; what is no time is itself.
        var scale: Double {
            switch self {
            case .microseconds: 1e6
            case .milliseconds: 1e3
            case .bytes, .times: 1
            }
        }

        /// Whether it is a time.
        var isTime: Bool { scale > 1 }
    }

    /// For programs, and to ask for the operation by its first part.
    let id: String
    /// For people.
    let title: String
    let unit: Unit
    let limits: [Limit]
    /// What the reference is, where there is one.
    var reference = ""
    /// The figure does not grow with the number of documents.
    var isIndependentOfCount = false
}
