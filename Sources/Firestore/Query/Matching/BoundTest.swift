import Foundation
import LarderModel

/// A bound of a query prepared for testing records in place.
struct BoundTest: Sendable {
    private enum Position {
        case field(PreparedField, EncodedValue)
        case name(DocumentPath)
    }

    private let positions: [(position: Position, isDescending: Bool)]
    private let accepted: AcceptedOrders

    /// A bound on the first orders of a query: its start, or else its end.
    init(_ bound: Bound, isStart: Bool, _ orders: [Order], _ fields: inout PreparedFields)
        throws(LarderError)
    {
        guard bound.values.count <= orders.count else {
            throw .invalidArgument(
                "a bound has \(bound.values.count) values for \(orders.count) orders")
        }
        var positions: [(Position, Bool)] = []
        for (value, order) in zip(bound.values, orders) {
            if !order.path.isDocumentID {
                let field = Position.field(fields[order.path], try EncodedValue(value))
                positions.append((field, order.isDescending))
            } else if let path = value.referencedDocument {
                positions.append((.name(path), order.isDescending))
            } else {
                throw .invalidArgument("a bound on the document's name is a reference")
            }
        }
        self.positions = positions
        let beyond: AcceptedOrders = isStart ? .above : .below
        accepted = bound.isInclusive ? beyond.union(.same) : beyond
    }

    /// Whether a document lies on the right side; not when it lacks a field.
    func admits(_ record: borrowing RecordView, at path: borrowing DocumentPathView)
        throws(LarderError) -> Bool
    {
        for (position, isDescending) in positions {
            let found: ComparisonResult? =
                switch position {
                case .field(let field, let value): try record.compare(field, to: value)
                case .name(let name): path.compare(to: name)
                }
            guard let order = found else { return false }
            if order != .orderedSame {
                return accepted.accepts(isDescending ? order.reversed : order)
            }
        }
        return accepted.accepts(.orderedSame)
    }
}
