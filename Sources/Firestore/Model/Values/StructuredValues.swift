/// A location on the earth: latitude and longitude in degrees.
///
/// Equality is numeric, so that 0.0 and -0.0 degrees are equal.
public struct GeoPoint: Hashable, ObjectComparable, Sendable, CustomStringConvertible {
    /// Degrees north, -90 to 90.
    public let latitude: Double

    /// Degrees east, -180 to 180.
    public let longitude: Double

    /// Creates a location; terminates the process if it is out of range, like Apple's SDK.
    ///
    /// For unchecked data use ``init(validatingLatitude:longitude:)``.
    public init(latitude: Double, longitude: Double) {
        precondition(
            Self.isValid(latitude, longitude),
            "A latitude must be in -90...90 and a longitude in -180...180.")
        self.init(unchecked: latitude, longitude)
    }

    /// Creates a location from unchecked numbers.
    ///
    /// - Throws: `invalidArgument` for numbers out of range or not finite.
    public init(validatingLatitude latitude: Double, longitude: Double) throws(LarderError) {
        guard Self.isValid(latitude, longitude) else {
            throw .invalidArgument(
                "geo point (\(latitude), \(longitude)): out of -90...90 or -180...180")
        }
        self.init(unchecked: latitude, longitude)
    }

    package init(unchecked latitude: Double, _ longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    /// The two numbers in parentheses.
    public var description: String { "(\(latitude), \(longitude))" }

    private static func isValid(_ latitude: Double, _ longitude: Double) -> Bool {
        (-90...90).contains(latitude) && (-180...180).contains(longitude)
    }
}

/// A vector of doubles, for vector search.
public struct VectorValue: Sendable, ExpressibleByArrayLiteral, CustomStringConvertible {
    /// The components in order.
    public let components: [Double]

    /// A vector of components.
    public init(_ components: [Double]) {
        self.components = components
    }

    /// A vector of components.
    public init(arrayLiteral components: Double...) {
        self.components = components
    }

    /// The components in brackets.
    public var description: String {
        "[" + components.map { $0.isNaN ? "nan" : $0.description }.joined(separator: ", ") + "]"
    }
}

extension Collection<Double> {
    /// The largest number of components of a vector.
    private static var maxComponents: Int { 2048 }

    /// The message of Firestore's service about the number of components; nil if a vector may have as
    /// many.
    package var vectorSizeProblem: String? {
        if isEmpty { return "Cannot have a zero length vector." }
        let limit = Self.maxComponents
        return count > limit ? "Vectors must be at most \(limit) dimensions." : nil
    }

    /// The message of Firestore's service for components that are not stored as a vector; nil if they
    /// are.
    package var vectorProblem: String? {
        vectorSizeProblem ?? (contains(where: \.isNaN) ? "Vector cannot contain NaN values." : nil)
    }
}

extension VectorValue: Hashable, ObjectComparable {
    /// True if all components are equal, by Firestore's equality of doubles.
    public static func == (left: VectorValue, right: VectorValue) -> Bool {
        left.components.elementsEqual(right.components) { $0.isFirestoreEqual(to: $1) }
    }

    /// Hashes the components.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(components.count)
        for component in components { hasher.combine(component.firestoreBits) }
    }
}

/// A server timestamp in a local write that the backend has not acknowledged yet.
public struct PendingServerTimestamp: Sendable {
    private indirect enum Previous: Sendable {
        case none
        case value(Value)
    }

    /// The time of the write, by the local clock.
    public let localWriteTime: Timestamp

    private let storage: Previous

    /// The field's value before the write; nil if it was missing.
    public var previous: Value? {
        switch storage {
        case .none: nil
        case .value(let value): value
        }
    }

    /// A pending timestamp over the field's previous value.
    ///
    /// A previous value that is itself pending is replaced by its own previous value, so that
    /// nesting never grows.
    public init(localWriteTime: Timestamp, previous: Value? = nil) {
        self.localWriteTime = localWriteTime
        switch previous {
        case nil: storage = .none
        case .serverTimestamp(let pending): storage = pending.storage
        case .some(let value): storage = .value(value)
        }
    }

    /// The presentation of a pending timestamp to readers.
    public enum Behavior: Hashable, Sendable {
        /// Null.
        case none
        /// The local write time.
        case estimate
        /// The value before the write, or null.
        case previous
    }

    /// The value presented to a reader.
    public func resolved(_ behavior: Behavior) -> Value {
        switch behavior {
        case .none: .null
        case .estimate: .timestamp(localWriteTime)
        case .previous: previous ?? .null
        }
    }
}

extension PendingServerTimestamp: Hashable {
    /// True if the local write times are equal; previous values are ignored.
    public static func == (left: PendingServerTimestamp, right: PendingServerTimestamp) -> Bool {
        left.localWriteTime == right.localWriteTime
    }

    /// Hashes the local write time.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(localWriteTime)
    }
}
