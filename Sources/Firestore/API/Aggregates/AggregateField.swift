import LarderModel
import LarderQuery

/// A figure that is asked of a query's documents.
///
/// A field that is no field path is reported by the aggregate query, as `invalidArgument`.
public final class AggregateField: Sendable {
    let aggregate: Result<Aggregate, LarderError>

    private init(_ aggregate: Result<Aggregate, LarderError>) {
        self.aggregate = aggregate
    }

    private convenience init(_ field: Any, _ make: (LarderModel.FieldPath) -> Aggregate) {
        self.init(
            Result { () throws(LarderError) in make(try FieldPath.resolving(field)) })
    }

    /// How many documents there are.
    public static func count() -> AggregateField {
        AggregateField(.success(.count))
    }

    /// The sum of a field's numbers: 0 without any.
    public static func sum(_ field: String) -> AggregateField {
        AggregateField(field) { .sum($0) }
    }

    /// The sum of a field's numbers: 0 without any.
    public static func sum(_ path: FieldPath) -> AggregateField {
        AggregateField(path) { .sum($0) }
    }

    /// The average of a field's numbers: null without any.
    public static func average(_ field: String) -> AggregateField {
        AggregateField(field) { .average($0) }
    }

    /// The average of a field's numbers: null without any.
    public static func average(_ path: FieldPath) -> AggregateField {
        AggregateField(path) { .average($0) }
    }

    /// A field's first value in Firestore's order: null without any.
    ///
    /// From the cache only.
    public static func minimum(_ field: String) -> AggregateField {
        AggregateField(field) { .minimum($0) }
    }

    /// A field's first value in Firestore's order: null without any.
    ///
    /// From the cache only.
    public static func minimum(_ path: FieldPath) -> AggregateField {
        AggregateField(path) { .minimum($0) }
    }

    /// A field's last value in Firestore's order: null without any.
    ///
    /// From the cache only.
    public static func maximum(_ field: String) -> AggregateField {
        AggregateField(field) { .maximum($0) }
    }

    /// A field's last value in Firestore's order: null without any.
    ///
    /// From the cache only.
    public static func maximum(_ path: FieldPath) -> AggregateField {
        AggregateField(path) { .maximum($0) }
    }
}

extension AggregateField: Hashable {
    /// Whether both ask for the same figure.
    public static func == (left: AggregateField, right: AggregateField) -> Bool {
        switch (left.aggregate, right.aggregate) {
        case (.success(let left), .success(let right)): left == right
        case (.failure(let left), .failure(let right)): left == right
        default: false
        }
    }

    /// Hashes what is asked for.
    public func hash(into hasher: inout Hasher) {
        if case .success(let aggregate) = aggregate { hasher.combine(aggregate) }
    }
}
