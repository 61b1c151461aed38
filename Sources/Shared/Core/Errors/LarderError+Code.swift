extension LarderError {
    /// The kind of a failure, with Firestore's names and numbers.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        private enum Known: Int {
            case cancelled = 1
            case unknown = 2
            case invalidArgument = 3
            case deadlineExceeded = 4
            case notFound = 5
            case alreadyExists = 6
            case permissionDenied = 7
            case resourceExhausted = 8
            case failedPrecondition = 9
            case aborted = 10
            case outOfRange = 11
            case unimplemented = 12
            case `internal` = 13
            case unavailable = 14
            case dataLoss = 15
            case unauthenticated = 16
        }

        /// Firestore's number.
        public let rawValue: Int

        /// A code by its number, also one that this version has no name for.
        public init(rawValue: Int) {
            self.rawValue = rawValue
        }

        private init(_ known: Known) {
            rawValue = known.rawValue
        }

        /// The code's name in Firestore's spelling.
        public var description: String {
            Known(rawValue: rawValue).map { String(describing: $0) } ?? "code \(rawValue)"
        }

        /// The operation was cancelled by its caller.
        public static let cancelled = Code(.cancelled)
        /// Nothing more precise is known.
        public static let unknown = Code(.unknown)
        /// The caller gave something that is never allowed.
        public static let invalidArgument = Code(.invalidArgument)
        /// Time ran out before the operation ended.
        public static let deadlineExceeded = Code(.deadlineExceeded)
        /// Something that was asked for is not there.
        public static let notFound = Code(.notFound)
        /// Something that was to be made is there already.
        public static let alreadyExists = Code(.alreadyExists)
        /// The caller may not do this.
        public static let permissionDenied = Code(.permissionDenied)
        /// A limit was reached: space, memory, readers or size.
        public static let resourceExhausted = Code(.resourceExhausted)
        /// The system is not in the state that the operation needs.
        public static let failedPrecondition = Code(.failedPrecondition)
        /// The operation was given up, and may be tried again from its beginning.
        public static let aborted = Code(.aborted)
        /// A position beyond the valid range.
        public static let outOfRange = Code(.outOfRange)
        /// The operation does not exist here.
        public static let unimplemented = Code(.unimplemented)
        /// Something that should never happen.
        public static let `internal` = Code(.internal)
        /// Not possible now; it may be later.
        public static let unavailable = Code(.unavailable)
        /// Stored data is damaged or lost.
        public static let dataLoss = Code(.dataLoss)
        /// The caller has not said who it is, or was not believed.
        public static let unauthenticated = Code(.unauthenticated)
    }
}
