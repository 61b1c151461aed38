import Larder
import LarderModel
import LarderRemote
import LarderTestSupport
import LarderWire
import SwiftProtobuf

/// Queries and gets: what an application asks for, and the target that comes of it.
extension ConformanceCase {
    /// Makes the query, and compares the message.
    ///
    /// Clients spell the orders out that the tests leave to the server. What is expected is brought
    /// to that form by being read and written again; nothing else of it may change thereby.
    func checkQuery() async throws {
        let remote = ConformanceRemote()
        let db = try ConformanceDatabase(remote)
        do {
            var query =
                db.firestore.collection(Self.path(body["collPath"]?.stringValue ?? ""))
                as Larder.Query
            for clause in body["clauses"]?.listValue.values ?? [] {
                query = try await add(clause.structValue.fields, to: query, db.firestore)
            }
            _ = try await query.getDocuments(source: .server)
        } catch {
            try await db.close()
            guard isError, (error as? LarderError)?.kind == .invalidArgument else { throw error }
            return
        }
        try await db.close()
        let coder = MessageCoder(ConformanceDatabase.id)
        guard let target = remote.targets.value.first?.target else {
            throw ConformanceFailure("nothing was asked for")
        }
        let query = try coder.encode(target).query
        if isError { throw ConformanceFailure("there is no error but \(try query.jsonString())") }
        let given: Google_Firestore_V1_StructuredQuery = try message("query")
        let root = coder.encode(parent: nil)
        var expected = try coder.encode(try coder.decode(given, below: root)).query
        guard query == expected else {
            throw ConformanceFailure(
                "the query is \(try query.jsonString()), not \(try expected.jsonString())")
        }
        expected.orderBy = given.orderBy
        guard expected == given else {
            throw ConformanceFailure(
                "only its orders may be spelled out: \(try given.jsonString())")
        }
    }

    /// Reads the document, and compares what the backend is asked for.
    func checkGet() async throws {
        let remote = ConformanceRemote()
        let db = try ConformanceDatabase(remote)
        _ = try await db.firestore.document(documentPath).getDocument(source: .server)
        try await db.close()
        let coder = MessageCoder(ConformanceDatabase.id)
        guard let target = remote.targets.value.first else {
            throw ConformanceFailure("nothing was asked for")
        }
        let request = try coder.encode(.add(target))
        let expected: Google_Firestore_V1_GetDocumentRequest = try message("request")
        guard request.addTarget.documents.documents == [expected.name] else {
            throw ConformanceFailure("the request is \(try request.jsonString())")
        }
    }

    private func add(
        _ clause: [String: Google_Protobuf_Value], to query: Larder.Query, _ db: Firestore
    ) async throws -> Larder.Query {
        guard let (name, value) = clause.first else { throw ConformanceFailure("an empty clause") }
        let parts = value.structValue.fields
        let path = parts["path"]?.fieldPath ?? Larder.FieldPath([])
        switch name {
        case "where":
            let operand = try Google_Protobuf_Value(text: parts["jsonValue"]?.stringValue ?? "")
            return try filtered(query, path, parts["op"]?.stringValue ?? "", operand.userValue)
        case "orderBy":
            return query.order(by: path, descending: parts["direction"]?.stringValue == "desc")
        case "startAt", "startAfter", "endAt", "endBefore":
            guard let snapshot = parts["docSnapshot"]?.structValue.fields else {
                let texts = parts["jsonValues"]?.listValue.values ?? []
                let values = try texts.map {
                    try Google_Protobuf_Value(text: $0.stringValue).userValue
                }
                return switch name {
                case "startAt": query.start(at: values)
                case "startAfter": query.start(after: values)
                case "endAt": query.end(at: values)
                default: query.end(before: values)
                }
            }
            let document = db.document(Self.path(snapshot["path"]?.stringValue ?? ""))
            let data = try Google_Protobuf_Value(text: snapshot["jsonData"]?.stringValue ?? "")
            try await document.setData(data.structValue.fields.mapValues(\.userValue))
            let place = try await document.getDocument(source: .cache)
            return switch name {
            case "startAt": query.start(atDocument: place)
            case "startAfter": query.start(afterDocument: place)
            case "endAt": query.end(atDocument: place)
            default: query.end(beforeDocument: place)
            }
        default: throw ConformanceFailure("the clause '\(name)' is none of a client's")
        }
    }

    private func filtered(
        _ query: Larder.Query, _ path: Larder.FieldPath, _ operation: String, _ operand: Any
    ) throws -> Larder.Query {
        switch operation {
        case "==": query.whereField(path, isEqualTo: operand)
        case "!=": query.whereField(path, isNotEqualTo: operand)
        case "<": query.whereField(path, isLessThan: operand)
        case "<=": query.whereField(path, isLessThanOrEqualTo: operand)
        case ">": query.whereField(path, isGreaterThan: operand)
        case ">=": query.whereField(path, isGreaterThanOrEqualTo: operand)
        case "array-contains": query.whereField(path, arrayContains: operand)
        default: throw ConformanceFailure("the operator '\(operation)' is none of a client's")
        }
    }
}
