import GRPCCore
import LarderModel
import LarderQuery
import LarderRemote
import LarderWire
import SwiftProtobuf

/// Queries without a stream, and lists of names.
extension CloudRemote {
    private typealias Method = Google_Firestore_V1_Firestore.Method

    func run(
        _ selection: QuerySelection, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<SelectedDocuments, LarderError>) -> Void
    ) {
        let (caller, database) = (caller, database)
        answer(completion) { () throws(LarderError) in
            let answers = try await caller.answers(
                Method.RunQuery.descriptor,
                try MessageCoder(database).encode(running: selection),
                of: Google_Firestore_V1_RunQueryResponse.self, as: credentials)
            return try MessageCoder(database, limits: .responses).decode(
                answers, to: selection)
        }
    }

    func listCollectionIDs(
        below parent: DocumentPath?, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[String], LarderError>) -> Void
    ) {
        let (caller, database) = (caller, database)
        answer(completion) { () throws(LarderError) in
            try await PagedList<String> { $0.utf8.count + 16 }.entries {
                (token) throws(LarderError) in
                let page = try await caller.answer(
                    Method.ListCollectionIds.descriptor,
                    MessageCoder(database).encode(listingCollectionsBelow: parent, after: token),
                    of: Google_Firestore_V1_ListCollectionIdsResponse.self, as: credentials)
                return (page.collectionIds, page.nextPageToken)
            }
        }
    }

    func listDocuments(
        in collection: CollectionPath, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentPath], LarderError>) -> Void
    ) {
        let (caller, database) = (caller, database)
        answer(completion) { () throws(LarderError) in
            try await PagedList<DocumentPath> { $0.string.utf8.count + 16 }.entries {
                (token) throws(LarderError) in
                let coder = MessageCoder(database)
                let page = try await caller.answer(
                    Method.ListDocuments.descriptor,
                    coder.encode(listingDocumentsOf: collection, after: token),
                    of: Google_Firestore_V1_ListDocumentsResponse.self, as: credentials)
                let paths = try page.documents.map { (document) throws(LarderError) in
                    try MessageCoder(database).decode(listed: document)
                }
                return (paths, page.nextPageToken)
            }
        }
    }

    func list(
        _ page: SubtreePage, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentPath], LarderError>) -> Void
    ) {
        let (caller, database) = (caller, database)
        answer(completion) { () throws(LarderError) in
            let answers = try await caller.answers(
                Method.RunQuery.descriptor, try MessageCoder(database).encode(page),
                of: Google_Firestore_V1_RunQueryResponse.self, as: credentials)
            let coder = MessageCoder(database)
            var paths: [DocumentPath] = []
            for answer in answers where answer.hasDocument {
                paths.append(try coder.decode(listed: answer.document))
            }
            return paths
        }
    }
}
