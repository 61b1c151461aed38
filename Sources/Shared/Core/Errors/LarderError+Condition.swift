import CLarder

extension LarderError {
    /// A status of the storage core; the numbers never change.
    public struct Condition: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The status's number in `larder.h`.
        public let rawValue: Int32

        /// A condition by its number, also one that this version has no name for.
        public init(rawValue: Int32) {
            self.rawValue = rawValue
        }

        private init(_ status: Int) {
            rawValue = Int32(status)
        }

        /// The status's name in `larder.h` without its prefix, such as `E_CORRUPT`.
        public var description: String {
            String(cString: larder_status_name(rawValue))
        }

        /// The failure did not come from the storage core.
        public static let none = Condition(LARDER_OK)
        /// Nothing is stored under that name or id.
        public static let notFound = Condition(LARDER_NOT_FOUND)
        /// A progress closure asked to stop.
        public static let stopped = Condition(LARDER_STOPPED)
        /// An argument is out of its range.
        public static let invalidArgument = Condition(LARDER_E_INVALID_ARGUMENT)
        /// A path, id, field path or user that Firestore forbids.
        public static let invalidName = Condition(LARDER_E_INVALID_NAME)
        /// Bytes that are not a record or value of this format.
        public static let invalidRecord = Condition(LARDER_E_INVALID_RECORD)
        /// Maps and arrays are nested too deep.
        public static let tooDeep = Condition(LARDER_E_TOO_DEEP)
        /// A document or another thing beyond its size limit.
        public static let tooLarge = Condition(LARDER_E_TOO_LARGE)
        /// A value is of another type.
        public static let wrongType = Condition(LARDER_E_WRONG_TYPE)
        /// Something to be made is there already.
        public static let exists = Condition(LARDER_E_EXISTS)
        /// This process has the store open: use that object.
        public static let alreadyOpen = Condition(LARDER_E_ALREADY_OPEN)
        /// Another process has the store open exclusively.
        public static let locked = Condition(LARDER_E_LOCKED)
        /// The store was opened before `fork()`.
        public static let forked = Condition(LARDER_E_FORKED)
        /// The store lies on a network file system.
        public static let networkFileSystem = Condition(LARDER_E_NETWORK_FILE_SYSTEM)
        /// A newer version wrote the store.
        public static let newerFormat = Condition(LARDER_E_NEWER_FORMAT)
        /// A file is there that is not a Larder store.
        public static let foreignFile = Condition(LARDER_E_FOREIGN_FILE)
        /// Nothing is there, and creating was not asked for.
        public static let noStore = Condition(LARDER_E_NO_STORE)
        /// The store is open for reading only.
        public static let readOnly = Condition(LARDER_E_READ_ONLY)
        /// The system denies access.
        public static let permission = Condition(LARDER_E_PERMISSION)
        /// A write transaction was used on another thread.
        public static let wrongThread = Condition(LARDER_E_WRONG_THREAD)
        /// The transaction has failed or its store is closed.
        public static let transactionEnded = Condition(LARDER_E_TXN_ENDED)
        /// Open transactions prevent the call.
        public static let busy = Condition(LARDER_E_BUSY)
        /// Input or output failed.
        public static let io = Condition(LARDER_E_IO)
        /// No space is left on the device.
        public static let noSpace = Condition(LARDER_E_NO_SPACE)
        /// There is no memory left.
        public static let noMemory = Condition(LARDER_E_NO_MEMORY)
        /// An earlier sync failed: reopen the store before writing.
        public static let writesRefused = Condition(LARDER_E_WRITES_REFUSED)
        /// Too many read transactions are open.
        public static let readersFull = Condition(LARDER_E_READERS_FULL)
        /// One transaction outgrew the memory map, which grows before the next.
        public static let mapFull = Condition(LARDER_E_MAP_FULL)
        /// Stored data is damaged.
        public static let corrupt = Condition(LARDER_E_CORRUPT)
        /// A compression dictionary is missing.
        public static let noDictionary = Condition(LARDER_E_NO_DICTIONARY)
    }
}

extension LarderError.Condition {
    /// The kind of failure that a condition is, in Firestore's terms.
    var kind: LarderError.Code {
        switch self {
        case .invalidArgument, .invalidName, .invalidRecord, .tooDeep, .tooLarge, .wrongType:
            .invalidArgument
        case .notFound, .noStore:
            .notFound
        case .stopped:
            .cancelled
        case .exists:
            .alreadyExists
        case .permission:
            .permissionDenied
        case .noSpace, .noMemory, .readersFull, .mapFull:
            .resourceExhausted
        case .alreadyOpen, .locked, .forked, .networkFileSystem, .newerFormat, .foreignFile,
            .readOnly, .wrongThread, .transactionEnded, .busy:
            .failedPrecondition
        case .io, .writesRefused:
            .unavailable
        case .corrupt, .noDictionary:
            .dataLoss
        default:
            .internal
        }
    }
}
