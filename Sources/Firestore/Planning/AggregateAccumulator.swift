import Foundation
package import LarderModel
package import LarderQuery

/// Computes several aggregations, document by document.
struct AggregateAccumulator {
    private(set) var count: Int64 = 0
    private var sums: [NumberSum] = []
    private var extremes: [Extreme] = []
    private let aggregates: [Aggregate]

    init(_ aggregates: [Aggregate]) {
        self.aggregates = aggregates
        var summed: Set<FieldPath> = []
        for aggregate in aggregates {
            switch aggregate {
            case .count: break
            case .sum(let path), .average(let path):
                if summed.insert(path).inserted { sums.append(NumberSum(path)) }
            case .minimum(let path): extremes.append(Extreme(path, isMaximum: false))
            case .maximum(let path): extremes.append(Extreme(path, isMaximum: true))
            }
        }
    }

    /// Adds a matching document.
    ///
    /// Allocates only for a field's first double and for a new minimum or maximum.
    mutating func add(_ record: borrowing RecordView) throws(LarderError) {
        count += 1
        for position in sums.indices { try sums[position].add(record) }
        for position in extremes.indices { try extremes[position].add(record) }
    }

    /// The aggregations of the documents added so far.
    func values() throws(LarderError) -> [Aggregate: Value] {
        var values: [Aggregate: Value] = [:]
        for aggregate in aggregates {
            switch aggregate {
            case .count: values[aggregate] = .integer(count)
            case .sum(let path):
                values[aggregate] = sums.first { $0.path == path }?.sum
            case .average(let path):
                values[aggregate] = sums.first { $0.path == path }?.average
            case .minimum(let path), .maximum(let path):
                let extreme = extremes.first {
                    $0.path == path && $0.isMaximum == (aggregate == .maximum(path))
                }
                values[aggregate] = try extreme?.value?.value() ?? .null
            }
        }
        return values
    }
}

/// The sum of a field's numbers, exact in any order.
private struct NumberSum {
    private let field: PreparedField
    private var numbers = ExactSum()

    init(_ path: FieldPath) {
        field = PreparedField(path)
    }

    var path: FieldPath { field.path }

    mutating func add(_ record: borrowing RecordView) throws(LarderError) {
        switch try record.type(of: field) {
        case .integer?:
            guard let number = try record.withValue(at: field, { $0.integer }) ?? nil else {
                return
            }
            numbers.add(number)
        case .double?:
            guard let number = try record.withValue(at: field, { $0.double }) ?? nil else { return }
            numbers.add(number)
        default: break
        }
    }

    /// An integer if all numbers are integers and their sum is in range, otherwise a double.
    var sum: Value { numbers.integer.map { .integer($0) } ?? .double(numbers.double) }

    /// A double; null without numbers.
    var average: Value { numbers.average.map { .double($0) } ?? .null }
}

/// The first or last value of a field in Firestore's order.
private struct Extreme {
    private let field: PreparedField
    let isMaximum: Bool
    private(set) var value: EncodedValue?

    init(_ path: FieldPath, isMaximum: Bool) {
        field = PreparedField(path)
        self.isMaximum = isMaximum
    }

    var path: FieldPath { field.path }

    mutating func add(_ record: borrowing RecordView) throws(LarderError) {
        if let value {
            let wanted: ComparisonResult = isMaximum ? .orderedDescending : .orderedAscending
            guard try record.compare(field, to: value) == wanted else { return }
        }
        guard let found = try record.value(at: field) else { return }
        value = try EncodedValue(found)
    }
}

/// Aggregations over the documents that a query matched.
package struct AggregateResult: Sendable {
    /// The value of each aggregation: an integer for a count, null for an average, minimum or
    /// maximum without values, integer 0 for a sum without values.
    package let values: [Aggregate: Value]
    package internal(set) var execution: QueryExecution
}
