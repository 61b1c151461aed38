import LarderModel
import LarderPlanning
import LarderQuery
import LarderWire
import SwiftProtobuf

extension Google_Firestore_V1_ExplainMetrics {
    /// The index entries that are billed as one read.
    private static let entriesOfRead = 1_000

    /// The plan and the statistics of a query that was run.
    init(_ execution: QueryExecution, of selection: QuerySelection, resultCount: Int) {
        self.init()
        planSummary = .init(execution, of: selection)
        executionStats = .init(execution, resultCount: resultCount, readCount: max(resultCount, 1))
    }

    /// The plan and the statistics of aggregations that were computed.
    init(aggregating execution: QueryExecution, over selection: QuerySelection) {
        self.init()
        planSummary = .init(execution, of: selection)
        let entries = max(execution.indexEntriesScanned, execution.documentsScanned)
        executionStats = .init(
            execution, resultCount: 1,
            readCount: max((entries + Self.entriesOfRead - 1) / Self.entriesOfRead, 1))
    }
}

extension Google_Firestore_V1_ExecutionStats {
    /// The statistics of an execution, with the names that Firestore has for details.
    fileprivate init(_ execution: QueryExecution, resultCount: Int, readCount: Int) {
        self.init()
        resultsReturned = Int64(resultCount)
        readOperations = Int64(readCount)
        executionDuration = .init(
            seconds: execution.microseconds / 1_000_000,
            nanos: Int32(execution.microseconds % 1_000_000) * 1_000)
        let billing = Google_Protobuf_Struct(fields: [
            "documents_billable": .init(stringValue: "\(resultCount)"),
            "index_entries_billable": .init(stringValue: "0"),
            "small_ops": .init(stringValue: "0"),
            "min_query_cost": .init(stringValue: resultCount == 0 ? "1" : "0"),
        ])
        debugStats = .init(fields: [
            "documents_scanned": .init(stringValue: "\(execution.documentsScanned)"),
            "index_entries_scanned": .init(stringValue: "\(execution.indexEntriesScanned)"),
            "bytes_read": .init(stringValue: "\(execution.bytesRead)"),
            "billing_details": .init(structValue: billing),
        ])
    }
}

extension Google_Firestore_V1_PlanSummary {
    /// The indexes of a plan; for a scan, the index that Firestore's service would use.
    ///
    /// `plan` says what was done.
    init(_ execution: QueryExecution, of selection: QuerySelection) {
        self.init()
        let known = execution.indexProperties
        let uses = known.isEmpty ? [selection.impliedIndex] : known
        indexesUsed = uses.map { index in
            .init(fields: [
                "query_scope": .init(
                    stringValue: execution.kind == .groupScan ? "Collection group" : "Collection"),
                "properties": .init(stringValue: index),
                "plan": .init(stringValue: execution.description),
            ])
        }
    }
}

extension QuerySelection {
    /// The properties of the index that answers the query in Firestore's service: the fields of
    /// equalities, then the orders.
    fileprivate var impliedIndex: String {
        var properties: [String] = []
        var fields: Set<FieldPath> = []
        for case .field(let filter) in query.filters
        where !filter.op.isInequality && !filter.path.isDocumentID {
            guard fields.insert(filter.path).inserted else { continue }
            let isArray = filter.op == .arrayContains || filter.op == .arrayContainsAny
            properties.append("\(filter.path) \(isArray ? "CONTAINS" : "ASC")")
        }
        for order in query.orders where fields.insert(order.path).inserted {
            properties.append("\(order.path) \(order.isDescending ? "DESC" : "ASC")")
        }
        if let nearest { properties.append("\(nearest.field) VECTOR<\(nearest.vector.count)>") }
        return "(\(properties.joined(separator: ", ")))"
    }
}
