/// A vector of doubles, as vector search uses them.
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

extension VectorValue: Hashable {
    /// Whether the components are equal as Firestore compares doubles for equality.
    public static func == (left: VectorValue, right: VectorValue) -> Bool {
        left.components.elementsEqual(right.components) { $0.isFirestoreEqual(to: $1) }
    }

    /// Hashes the components.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(components.count)
        for component in components { hasher.combine(component.firestoreBits) }
    }
}
